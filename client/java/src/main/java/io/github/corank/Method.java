package io.github.corank;

import io.github.corank.v1.CombineSetsRequest;
import io.github.corank.v1.CombineSetsResponse;
import io.github.corank.v1.CorankServiceGrpc;
import io.github.corank.v1.ExpandIntervalsRequest;
import io.github.corank.v1.ExpandIntervalsResponse;
import io.github.corank.v1.GatherIntervalsRequest;
import io.github.corank.v1.GatherIntervalsResponse;
import io.github.corank.v1.GroupRequest;
import io.github.corank.v1.GroupResponse;
import io.github.corank.v1.JoinRequest;
import io.github.corank.v1.JoinResponse;
import io.github.corank.v1.LoadBalanceRequest;
import io.github.corank.v1.LoadBalanceResponse;
import io.github.corank.v1.MergeRequest;
import io.github.corank.v1.MergeResponse;
import io.github.corank.v1.MoveIntervalsRequest;
import io.github.corank.v1.MoveIntervalsResponse;
import io.github.corank.v1.Operation;
import io.github.corank.v1.OperationResult;
import io.github.corank.v1.OperationResult.ResultCase;
import io.github.corank.v1.RankRequest;
import io.github.corank.v1.RankResponse;
import io.github.corank.v1.RequestOptions;
import io.github.corank.v1.RequestStats;
import io.github.corank.v1.ScatterIntervalsRequest;
import io.github.corank.v1.ScatterIntervalsResponse;
import io.github.corank.v1.SearchRequest;
import io.github.corank.v1.SearchResponse;
import io.github.corank.v1.SelectRequest;
import io.github.corank.v1.SelectResponse;
import io.github.corank.v1.SortRequest;
import io.github.corank.v1.SortResponse;
import io.grpc.MethodDescriptor;
import java.util.function.BiFunction;
import java.util.function.Function;

/**
 * A unary method of an operator: its request as a plan's operation, and its response as a plan's
 * result.
 *
 * @param <Q> the request
 * @param <A> the response
 */
record Method<Q, A>(
    MethodDescriptor<Q, A> descriptor,
    Function<Operation, Q> request,
    Function<Operation.Builder, RequestOptions.Builder> options,
    BiFunction<OperationResult.Builder, A, OperationResult.Builder> wrap,
    ResultCase kind,
    Function<OperationResult, RequestStats> stats,
    Function<OperationResult, String> algorithm) {

  static final Method<SortRequest, SortResponse> SORT =
      new Method<>(
          CorankServiceGrpc.getSortMethod(),
          Operation::getSort,
          operation -> operation.getSortBuilder().getOptionsBuilder(),
          OperationResult.Builder::setSort,
          ResultCase.SORT,
          found -> found.getSort().getStats(),
          found -> ServerInfo.plain("SORT_ALGORITHM_", found.getSort().getAlgorithm()));
  static final Method<MergeRequest, MergeResponse> MERGE =
      new Method<>(
          CorankServiceGrpc.getMergeMethod(),
          Operation::getMerge,
          operation -> operation.getMergeBuilder().getOptionsBuilder(),
          OperationResult.Builder::setMerge,
          ResultCase.MERGE,
          found -> found.getMerge().getStats(),
          found -> ServerInfo.plain("MERGE_ALGORITHM_", found.getMerge().getAlgorithm()));
  static final Method<ExpandIntervalsRequest, ExpandIntervalsResponse> EXPAND =
      new Method<>(
          CorankServiceGrpc.getExpandIntervalsMethod(),
          Operation::getExpandIntervals,
          operation -> operation.getExpandIntervalsBuilder().getOptionsBuilder(),
          OperationResult.Builder::setExpandIntervals,
          ResultCase.EXPAND_INTERVALS,
          found -> found.getExpandIntervals().getStats(),
          Method::none);
  static final Method<MoveIntervalsRequest, MoveIntervalsResponse> MOVE =
      new Method<>(
          CorankServiceGrpc.getMoveIntervalsMethod(),
          Operation::getMoveIntervals,
          operation -> operation.getMoveIntervalsBuilder().getOptionsBuilder(),
          OperationResult.Builder::setMoveIntervals,
          ResultCase.MOVE_INTERVALS,
          found -> found.getMoveIntervals().getStats(),
          Method::none);
  static final Method<GatherIntervalsRequest, GatherIntervalsResponse> GATHER =
      new Method<>(
          CorankServiceGrpc.getGatherIntervalsMethod(),
          Operation::getGatherIntervals,
          operation -> operation.getGatherIntervalsBuilder().getOptionsBuilder(),
          OperationResult.Builder::setGatherIntervals,
          ResultCase.GATHER_INTERVALS,
          found -> found.getGatherIntervals().getStats(),
          Method::none);
  static final Method<ScatterIntervalsRequest, ScatterIntervalsResponse> SCATTER =
      new Method<>(
          CorankServiceGrpc.getScatterIntervalsMethod(),
          Operation::getScatterIntervals,
          operation -> operation.getScatterIntervalsBuilder().getOptionsBuilder(),
          OperationResult.Builder::setScatterIntervals,
          ResultCase.SCATTER_INTERVALS,
          found -> found.getScatterIntervals().getStats(),
          Method::none);
  static final Method<LoadBalanceRequest, LoadBalanceResponse> LOAD_BALANCE =
      new Method<>(
          CorankServiceGrpc.getLoadBalanceMethod(),
          Operation::getLoadBalance,
          operation -> operation.getLoadBalanceBuilder().getOptionsBuilder(),
          OperationResult.Builder::setLoadBalance,
          ResultCase.LOAD_BALANCE,
          found -> found.getLoadBalance().getStats(),
          Method::none);
  static final Method<SearchRequest, SearchResponse> SEARCH =
      new Method<>(
          CorankServiceGrpc.getSearchMethod(),
          Operation::getSearch,
          operation -> operation.getSearchBuilder().getOptionsBuilder(),
          OperationResult.Builder::setSearch,
          ResultCase.SEARCH,
          found -> found.getSearch().getStats(),
          Method::none);

  static final Method<GroupRequest, GroupResponse> GROUP =
      new Method<>(
          CorankServiceGrpc.getGroupMethod(),
          Operation::getGroup,
          operation -> operation.getGroupBuilder().getOptionsBuilder(),
          OperationResult.Builder::setGroup,
          ResultCase.GROUP,
          found -> found.getGroup().getStats(),
          Method::none);
  static final Method<CombineSetsRequest, CombineSetsResponse> COMBINE_SETS =
      new Method<>(
          CorankServiceGrpc.getCombineSetsMethod(),
          Operation::getCombineSets,
          operation -> operation.getCombineSetsBuilder().getOptionsBuilder(),
          OperationResult.Builder::setCombineSets,
          ResultCase.COMBINE_SETS,
          found -> found.getCombineSets().getStats(),
          Method::none);

  static final Method<JoinRequest, JoinResponse> JOIN =
      new Method<>(
          CorankServiceGrpc.getJoinMethod(),
          Operation::getJoin,
          operation -> operation.getJoinBuilder().getOptionsBuilder(),
          OperationResult.Builder::setJoin,
          ResultCase.JOIN,
          found -> found.getJoin().getStats(),
          Method::none);

  static final Method<SelectRequest, SelectResponse> SELECT =
      new Method<>(
          CorankServiceGrpc.getSelectMethod(),
          Operation::getSelect,
          operation -> operation.getSelectBuilder().getOptionsBuilder(),
          OperationResult.Builder::setSelect,
          ResultCase.SELECT,
          found -> found.getSelect().getStats(),
          Method::none);

  static final Method<RankRequest, RankResponse> RANK =
      new Method<>(
          CorankServiceGrpc.getRankMethod(),
          Operation::getRank,
          operation -> operation.getRankBuilder().getOptionsBuilder(),
          OperationResult.Builder::setRank,
          ResultCase.RANK,
          found -> found.getRank().getStats(),
          Method::none);

  private static String none(OperationResult found) {
    return "";
  }

  String name() {
    return descriptor.getBareMethodName();
  }
}
