import io.github.corank.CallOptions;
import io.github.corank.Chain;
import io.github.corank.Client;
import io.github.corank.CombineSets;
import io.github.corank.CombineSetsResult;
import io.github.corank.Comparison;
import io.github.corank.CorankException;
import io.github.corank.CountJoin;
import io.github.corank.CountSets;
import io.github.corank.Elements;
import io.github.corank.Group;
import io.github.corank.GroupOutput;
import io.github.corank.GroupResult;
import io.github.corank.Insert;
import io.github.corank.Join;
import io.github.corank.JoinKind;
import io.github.corank.JoinResult;
import io.github.corank.Merge;
import io.github.corank.Partition;
import io.github.corank.PartitionResult;
import io.github.corank.Place;
import io.github.corank.Priority;
import io.github.corank.Rank;
import io.github.corank.RankMethod;
import io.github.corank.Remove;
import io.github.corank.Search;
import io.github.corank.Select;
import io.github.corank.SelectResult;
import io.github.corank.Selection;
import io.github.corank.SetOperation;
import io.github.corank.Sort;
import io.github.corank.SortResult;
import io.github.corank.StoredArray;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** The blocks of the Java pages, which scripts/checks/guide_code.py puts here. They use the server in CORANK_SERVER. */
public final class Guide {
  // What the pages take for granted.
  static final Client client = Client.connect();
  static final float[] keys = {3, 1, 2};
  static final float[] prices = {9.5f, 3.25f, 7};
  static final long[] ids = {1, 2, 3};
  static final int[] shops = {2, 1, 2};
  static final float[] haystack = {2, 1};
  static final float[] needles = {2};

  private Guide() {}

  // each block: begin
  static void NAME() throws Exception {
    BLOCK
  }

  // each block: end
  /** Runs the blocks. */
  public static void main(String[] arguments) throws Exception {
    // each call: begin
    NAME();
    // each call: end
    client.close();
    System.out.println("the blocks of the guide ran");
  }
}
