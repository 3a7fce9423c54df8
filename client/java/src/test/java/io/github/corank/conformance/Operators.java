package io.github.corank.conformance;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.github.corank.Column;
import io.github.corank.CombineSets;
import io.github.corank.CombineSetsResult;
import io.github.corank.Comparison;
import io.github.corank.CountJoin;
import io.github.corank.CountSets;
import io.github.corank.Elements;
import io.github.corank.Expand;
import io.github.corank.Gather;
import io.github.corank.Group;
import io.github.corank.GroupOutput;
import io.github.corank.GroupResult;
import io.github.corank.Input;
import io.github.corank.Insert;
import io.github.corank.Join;
import io.github.corank.JoinKind;
import io.github.corank.JoinResult;
import io.github.corank.LoadBalance;
import io.github.corank.LoadBalanceResult;
import io.github.corank.Merge;
import io.github.corank.MergeAlgorithm;
import io.github.corank.MergeResult;
import io.github.corank.Move;
import io.github.corank.NanOrder;
import io.github.corank.Operator;
import io.github.corank.Partition;
import io.github.corank.PartitionResult;
import io.github.corank.Rank;
import io.github.corank.RankMethod;
import io.github.corank.Remove;
import io.github.corank.Scatter;
import io.github.corank.Search;
import io.github.corank.SearchColumns;
import io.github.corank.Select;
import io.github.corank.SelectResult;
import io.github.corank.Selection;
import io.github.corank.SetOperation;
import io.github.corank.Sort;
import io.github.corank.SortAlgorithm;
import io.github.corank.SortColumns;
import io.github.corank.SortColumnsResult;
import io.github.corank.SortResult;
import io.github.corank.SortedColumn;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.Function;

/** Makes operators of commands, and answers of their results. */
final class Operators {
  /** An operator, and the names of its results in the order in which the client keeps them. */
  record Made(Operator<?> operator, List<String> names) {}

  private final Function<JsonObject, Input> handles;
  private JsonObject given;
  private Set<String> known;

  /** Makes operators whose kept arrays and earlier results come from `handles`. */
  Operators(Function<JsonObject, Input> handles) {
    this.handles = handles;
  }

  Made make(String name, JsonObject arguments) {
    given = arguments;
    return switch (name) {
      case "sort" -> sort();
      case "sort_columns" -> sortColumns();
      case "merge" -> merge();
      case "search" -> search();
      case "search_columns" -> searchColumns();
      case "expand" -> {
        expect("values", "counts");
        yield new Made(Expand.of(input("values"), input("counts")), List.of("values"));
      }
      case "gather" -> {
        expect("source", "source_offsets", "counts");
        yield new Made(
            Gather.of(input("source"), input("source_offsets"), input("counts")),
            List.of("result"));
      }
      case "move" -> move();
      case "scatter" -> scatter();
      case "load_balance" -> {
        expect("counts");
        yield new Made(LoadBalance.of(input("counts")), List.of("objects", "ranks"));
      }
      case "group" -> group();
      case "combine_sets" -> combineSets();
      case "join" -> join();
      case "select" -> select();
      case "partition" -> partition();
      case "remove" -> remove();
      case "insert" -> insert();
      case "rank" -> rank();
      default -> throw new IllegalStateException("no operator " + name);
    };
  }

  /** Members that this driver does not know are its own error. */
  private void expect(String... names) {
    known = Set.of(names);
    Driver.checkMembers(given, known);
  }

  private Input input(String name) {
    return input(given.getAsJsonObject(name));
  }

  private Input input(JsonObject array) {
    return array.has("kept") || array.has("result") ? handles.apply(array) : Arrays.elements(array);
  }

  private List<Input> inputs(String name) {
    List<Input> made = new ArrayList<>();
    given.getAsJsonArray(name).forEach(each -> made.add(input(each.getAsJsonObject())));
    return made;
  }

  private String text(String name, String otherwise) {
    return given.has(name) ? given.get(name).getAsString() : otherwise;
  }

  private boolean is(String name) {
    return given.has(name) && given.get(name).getAsBoolean();
  }

  private boolean isDescending() {
    return text("order", "ascending").equals("descending");
  }

  private Made sort() {
    expect("keys", "values", "output", "order", "algorithm", "segment_offsets", "limit", "offset");
    Sort made = Sort.of(input("keys"));
    List<String> names = new ArrayList<>();
    String output = text("output", "keys");
    if (!output.equals("indices")) {
      names.add("keys");
    }
    if (given.has("values")) {
      made.values(input("values"));
      names.add("values");
    }
    if (output.equals("indices")) {
      made.indices();
      names.add("indices");
    } else if (output.equals("keys_and_indices")) {
      made.withIndices();
      names.add("indices");
    }
    if (isDescending()) {
      made.descending();
    }
    if (given.has("algorithm")) {
      made.algorithm(SortAlgorithm.valueOf(text("algorithm", "").toUpperCase(Locale.ROOT)));
    }
    if (given.has("segment_offsets")) {
      made.segments(input("segment_offsets"));
    }
    if (given.has("limit")) {
      made.limit(given.get("limit").getAsLong());
    }
    if (given.has("offset")) {
      made.offset(given.get("offset").getAsLong());
    }
    return new Made(made, names);
  }

  private List<Column> columns(String name) {
    List<Column> columns = new ArrayList<>();
    for (JsonElement each : given.getAsJsonArray(name)) {
      JsonObject column = each.getAsJsonObject();
      Driver.checkMembers(column, Set.of("data", "offsets", "validity", "order", "nulls", "nans"));
      Input data = input(column.getAsJsonObject("data"));
      Column made =
          column.has("offsets")
              ? Column.of(data, input(column.getAsJsonObject("offsets")))
              : Column.of(data);
      boolean descending =
          column.has("order") && column.get("order").getAsString().equals("descending");
      if (column.has("validity")) {
        made = made.validity(input(column.getAsJsonObject("validity")));
      }
      if (column.has("nulls") && column.get("nulls").getAsString().equals("first")) {
        made = made.nullsFirst();
      }
      if (column.has("nans")) {
        made =
            made.nans(NanOrder.valueOf(column.get("nans").getAsString().toUpperCase(Locale.ROOT)));
      }
      columns.add(descending ? made.descending() : made);
    }
    return columns;
  }

  private Made searchColumns() {
    expect("haystack_columns", "needle_columns", "bound", "assume_sorted");
    SearchColumns made = SearchColumns.of(columns("haystack_columns"), columns("needle_columns"));
    if (text("bound", "lower").equals("upper")) {
      made.upperBound();
    }
    if (is("assume_sorted")) {
      made.assumeSorted();
    }
    return new Made(made, List.of("positions"));
  }

  private Made sortColumns() {
    expect(
        "columns",
        "values",
        "output",
        "limit",
        "offset",
        "algorithm",
        "segment_offsets",
        "run_offsets");
    SortColumns made = SortColumns.of(columns("columns"));
    if (given.has("segment_offsets")) {
      made.segments(input("segment_offsets"));
    }
    if (given.has("run_offsets")) {
      made.runs(input("run_offsets"));
    }
    List<String> names = new ArrayList<>();
    String output = text("output", "keys");
    if (output.startsWith("keys")) {
      names.add("columns");
    }
    if (given.has("values")) {
      made.values(input("values"));
      names.add("values");
    }
    if (output.equals("ranks")) {
      made.ranks();
      names.add("ranks");
    } else if (output.equals("indices")) {
      made.indices();
      names.add("indices");
    } else if (output.equals("keys_and_indices")) {
      made.withIndices();
      names.add("indices");
    }
    if (given.has("limit")) {
      made.limit(given.get("limit").getAsLong());
    }
    if (given.has("offset")) {
      made.offset(given.get("offset").getAsLong());
    }
    if (given.has("algorithm")) {
      made.algorithm(SortAlgorithm.valueOf(text("algorithm", "").toUpperCase(Locale.ROOT)));
    }
    return new Made(made, names);
  }

  private Made merge() {
    expect("keys", "values", "order", "algorithm", "assume_sorted");
    Merge made = Merge.of(inputs("keys"));
    if (given.has("values")) {
      made.values(inputs("values"));
    }
    if (isDescending()) {
      made.descending();
    }
    if (given.has("algorithm")) {
      made.algorithm(MergeAlgorithm.valueOf(text("algorithm", "").toUpperCase(Locale.ROOT)));
    }
    if (is("assume_sorted")) {
      made.assumeSorted();
    }
    return new Made(made, given.has("values") ? List.of("keys", "values") : List.of("keys"));
  }

  private Made search() {
    expect("haystack", "needles", "bound", "order", "assume_sorted");
    Search made = Search.of(input("haystack"), input("needles"));
    if (text("bound", "lower").equals("upper")) {
      made.upperBound();
    }
    if (isDescending()) {
      made.descending();
    }
    if (is("assume_sorted")) {
      made.assumeSorted();
    }
    return new Made(made, List.of("positions"));
  }

  private Made move() {
    expect(
        "source",
        "source_offsets",
        "destination_offsets",
        "counts",
        "destination",
        "destination_count",
        "allow_overlap");
    Move made =
        Move.of(
            input("source"),
            input("source_offsets"),
            input("destination_offsets"),
            input("counts"));
    if (given.has("destination")) {
      made.into(input("destination"));
    } else {
      made.into(given.get("destination_count").getAsLong());
    }
    if (is("allow_overlap")) {
      made.allowOverlap();
    }
    return new Made(made, List.of("result"));
  }

  private Made scatter() {
    expect(
        "source",
        "destination_offsets",
        "counts",
        "destination",
        "destination_count",
        "allow_overlap");
    Scatter made = Scatter.of(input("source"), input("destination_offsets"), input("counts"));
    if (given.has("destination")) {
      made.into(input("destination"));
    } else {
      made.into(given.get("destination_count").getAsLong());
    }
    if (is("allow_overlap")) {
      made.allowOverlap();
    }
    return new Made(made, List.of("result"));
  }

  private Made group() {
    expect("keys", "values", "values_validity", "input", "order", "outputs");
    Group made = Group.of(input("keys"));
    if (given.has("values")) {
      made.values(input("values"));
    }
    if (given.has("values_validity")) {
      made.valuesValidity(input("values_validity"));
    }
    switch (text("input", "unsorted")) {
      case "sorted" -> made.sorted();
      case "runs" -> made.runs();
      default -> {}
    }
    if (isDescending()) {
      made.descending();
    }
    EnumSet<GroupOutput> outputs = EnumSet.of(GroupOutput.KEYS, GroupOutput.COUNTS);
    if (given.has("outputs")) {
      outputs.clear();
      given
          .getAsJsonArray("outputs")
          .forEach(
              each ->
                  outputs.add(GroupOutput.valueOf(each.getAsString().toUpperCase(Locale.ROOT))));
      GroupOutput[] all = outputs.toArray(GroupOutput[]::new);
      made.outputs(all[0], all);
    }
    return new Made(
        made, outputs.stream().map(each -> each.name().toLowerCase(Locale.ROOT)).toList());
  }

  private Made combineSets() {
    expect("operation", "left", "right", "left_values", "right_values", "order", "count_only");
    SetOperation operation = SetOperation.valueOf(text("operation", "").toUpperCase(Locale.ROOT));
    Input left = input("left");
    Input right = input("right");
    if (is("count_only")) {
      CountSets made = CountSets.of(operation, left, right);
      return new Made(isDescending() ? made.descending() : made, List.of("count"));
    }
    CombineSets made = CombineSets.of(operation, left, right);
    if (given.has("right_values")) {
      Input ofLeft = given.has("left_values") ? input("left_values") : null;
      made.values(ofLeft, input("right_values"));
    } else if (given.has("left_values")) {
      made.values(input("left_values"));
    }
    boolean hasValues = given.has("left_values");
    return new Made(
        isDescending() ? made.descending() : made,
        hasValues ? List.of("keys", "values") : List.of("keys"));
  }

  private Made join() {
    expect("kind", "left", "right", "right_sorted", "max_rows", "count_only");
    JoinKind kind = JoinKind.valueOf(text("kind", "").toUpperCase(Locale.ROOT));
    Input left = input("left");
    Input right = input("right");
    if (is("count_only")) {
      CountJoin made = CountJoin.of(kind, left, right);
      return new Made(is("right_sorted") ? made.rightSorted() : made, List.of("count"));
    }
    Join made = Join.of(kind, left, right);
    if (is("right_sorted")) {
      made.rightSorted();
    }
    if (given.has("max_rows")) {
      made.maxRows(given.get("max_rows").getAsLong());
    }
    boolean leftOnly = kind == JoinKind.SEMI || kind == JoinKind.ANTI;
    return new Made(made, leftOnly ? List.of("left_rows") : List.of("left_rows", "right_rows"));
  }

  private Selection selection() {
    if (given.has("flags")) {
      return Selection.flags(input("flags"));
    }
    if (given.has("bitmap")) {
      return Selection.bitmap(input("bitmap"));
    }
    if (given.has("positions")) {
      return Selection.positions(input("positions"));
    }
    String comparison = text("comparison", "").toUpperCase(Locale.ROOT);
    return Selection.where(Comparison.valueOf(comparison), input("threshold"));
  }

  private Made select() {
    expect(
        "elements",
        "flags",
        "bitmap",
        "positions",
        "threshold",
        "comparison",
        "values",
        "negate",
        "output");
    Select made = Select.of(input("elements"), selection());
    if (is("negate")) {
      made.negate();
    }
    if (text("output", "").equals("indices")) {
      return new Made(made.indices(), List.of("indices"));
    }
    return given.has("values")
        ? new Made(made.values(input("values")), List.of("elements", "values"))
        : new Made(made, List.of("elements"));
  }

  private Made partition() {
    expect(
        "elements", "flags", "bitmap", "positions", "threshold", "comparison", "values", "negate");
    Partition made = Partition.of(input("elements"), selection());
    if (is("negate")) {
      made.negate();
    }
    return given.has("values")
        ? new Made(made.values(input("values")), List.of("elements", "values", "count"))
        : new Made(made, List.of("elements", "count"));
  }

  private Made remove() {
    expect("elements", "positions", "values");
    Remove made = Remove.of(input("elements"), input("positions"));
    return given.has("values")
        ? new Made(made.values(input("values")), List.of("elements", "values"))
        : new Made(made, List.of("elements"));
  }

  private Made insert() {
    expect("elements", "positions", "inserted");
    long[] positions = ((Elements) input("positions")).longArray();
    return new Made(
        Insert.of((Elements) input("elements"), positions, (Elements) input("inserted")),
        List.of("result"));
  }

  private Made rank() {
    expect("keys", "method", "order", "keys_sorted", "segment_offsets");
    Rank made = Rank.of(input("keys"));
    if (given.has("method")) {
      made.method(RankMethod.valueOf(text("method", "").toUpperCase(Locale.ROOT)));
    }
    if (isDescending()) {
      made.descending();
    }
    if (given.has("segment_offsets")) {
      made.segments(input("segment_offsets"));
    }
    return new Made(is("keys_sorted") ? made.keysSorted() : made, List.of("ranks"));
  }

  /** The results of an operator that came back, by name. */
  static JsonObject results(Object result, List<String> names, boolean digest) {
    JsonObject made = new JsonObject();
    if (result instanceof SortResult sort) {
      add(made, "keys", sort.keys(), digest);
      add(made, "values", sort.values(), digest);
      add(made, "indices", sort.indices(), digest);
    } else if (result instanceof SortColumnsResult columns) {
      if (names.contains("columns")) {
        made.add("columns", columns(columns.columns(), digest));
      }
      add(made, "values", columns.values(), digest);
      add(made, "indices", columns.indices(), digest);
      add(made, "ranks", columns.ranks(), digest);
    } else if (result instanceof MergeResult merge) {
      add(made, "keys", merge.keys(), digest);
      add(made, "values", merge.values(), digest);
    } else if (result instanceof LoadBalanceResult balance) {
      add(made, "objects", balance.objects(), digest);
      add(made, "ranks", balance.ranks(), digest);
    } else if (result instanceof GroupResult group) {
      add(made, "keys", group.keys(), digest);
      add(made, "counts", group.counts(), digest);
      add(made, "firsts", group.firsts(), digest);
      add(made, "sums", group.sums(), digest);
      add(made, "minima", group.minima(), digest);
      add(made, "maxima", group.maxima(), digest);
      add(made, "value_counts", group.valueCounts(), digest);
    } else if (result instanceof CombineSetsResult sets) {
      add(made, "keys", sets.keys(), digest);
      add(made, "values", sets.values(), digest);
    } else if (result instanceof JoinResult join) {
      add(made, "left_rows", join.leftRows(), digest);
      add(made, "right_rows", join.rightRows(), digest);
    } else if (result instanceof SelectResult select) {
      add(made, "elements", select.elements(), digest);
      add(made, "values", select.values(), digest);
      add(made, "indices", select.indices(), digest);
    } else if (result instanceof PartitionResult partition) {
      add(made, "elements", partition.elements(), digest);
      add(made, "values", partition.values(), digest);
      if (partition.selected() != null) {
        add(made, "count", Elements.of(new long[] {partition.selected()}), digest);
      }
    } else if (result instanceof Long count) {
      add(made, names.get(0), Elements.of(new long[] {count}), digest);
    } else {
      add(made, names.get(0), (Elements) result, digest);
    }
    return made;
  }

  private static JsonArray columns(List<SortedColumn> columns, boolean digest) {
    JsonArray made = new JsonArray();
    for (SortedColumn column : columns) {
      JsonObject each = new JsonObject();
      each.add("data", Arrays.json(column.data(), false, digest));
      if (column.offsets() != null) {
        each.add("offsets", Arrays.json(column.offsets(), false, digest));
      }
      if (column.validity() != null) {
        each.add("validity", Arrays.json(column.validity(), false, digest));
      }
      made.add(each);
    }
    return made;
  }

  private static void add(JsonObject made, String name, Elements elements, boolean digest) {
    if (elements != null) {
      boolean isIndex = Set.of("indices", "objects", "ranks", "positions", "firsts").contains(name);
      made.add(name, Arrays.json(elements, isIndex, digest));
    }
  }
}
