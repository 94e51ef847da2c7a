import java.util.Arrays;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import org.apache.flink.api.common.accumulators.LongCounter;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.PrimitiveArrayTypeInfo;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/**
 * Counts the numbers 0, 1, 2, … by their remainder, and knows at every number what it must have counted before: number n
 * is the (n / KEYS)th of its key. A count, or a byte kept beside it, that is off ends the job. So a job that runs is
 * right, and one that went on from a checkpoint says by its accumulators for how many keys it found what it had left.
 *
 * <p>Arguments: the number of keys, the bytes kept for each, the numbers a second.
 */
public final class CountJob {
    private CountJob() {}

    public static void main(String[] arguments) throws Exception {
        long keys = Long.parseLong(arguments[0]);
        int bytes = Integer.parseInt(arguments[1]);
        long perSecond = Long.parseLong(arguments[2]);
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        // One source and one way to each counter: the numbers of a key come in order.
        env.fromSource(
                        new NumberSequenceSource(0, Long.MAX_VALUE - 1),
                        WatermarkStrategy.noWatermarks(),
                        "numbers",
                        Types.LONG)
                .setParallelism(1)
                .uid("numbers")
                .map(number -> {
                    // A hundredth of a second at a time: a sleep for each number would be too long.
                    if (number % Math.max(1, perSecond / 100) == 0) {
                        Thread.sleep(10);
                    }
                    return number;
                })
                .returns(Types.LONG)
                .setParallelism(1)
                .uid("pace")
                .keyBy(number -> number % keys, Types.LONG)
                .process(new Count(keys, bytes))
                .uid("count");
        env.execute("count");
    }

    private static final class Count extends KeyedProcessFunction<Long, Long, Long> {
        private final long keys;
        private final int bytes;
        private transient Set<Long> met;
        private transient ValueState<Long> counts;
        private transient ValueState<byte[]> kept;
        private transient LongCounter checked;
        private transient LongCounter remembered;

        Count(long keys, int bytes) {
            this.keys = keys;
            this.bytes = bytes;
        }

        // open() has another signature in each of the releases that this must compile against.
        private void begin() {
            met = new HashSet<>();
            counts = getRuntimeContext().getState(new ValueStateDescriptor<>("count", Types.LONG));
            kept = getRuntimeContext()
                    .getState(new ValueStateDescriptor<>("kept", PrimitiveArrayTypeInfo.BYTE_PRIMITIVE_ARRAY_TYPE_INFO));
            checked = new LongCounter();
            remembered = new LongCounter();
            getRuntimeContext().addAccumulator("checked", checked);
            getRuntimeContext().addAccumulator("remembered", remembered);
        }

        @Override
        public void processElement(Long number, Context context, Collector<Long> out) throws Exception {
            if (met == null) {
                begin();
            }
            long key = context.getCurrentKey();
            long before = number / keys;
            Long count = counts.value();
            byte[] found = kept.value();
            boolean right = before == 0
                    ? count == null && found == null
                    : count != null && count == before && Arrays.equals(found, bytesOf(key, before));
            if (!right) {
                throw new IllegalStateException(
                        "WRONG COUNT: key " + key + " was counted " + before + " times, its state says " + count);
            }
            checked.add(1);
            if (met.add(key) && before > 0) {
                remembered.add(1);
            }
            counts.update(before + 1);
            kept.update(bytesOf(key, before + 1));
        }

        // Random, so that no compression makes the files small.
        private byte[] bytesOf(long key, long count) {
            byte[] made = new byte[bytes];
            new Random(key * 1_000_003 + count).nextBytes(made);
            return made;
        }
    }
}
