import java.io.BufferedOutputStream;
import java.io.File;
import java.io.FileOutputStream;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import org.apache.flink.core.fs.Path;
import org.apache.flink.runtime.checkpoint.CheckpointProperties;
import org.apache.flink.runtime.checkpoint.CheckpointRetentionPolicy;
import org.apache.flink.runtime.checkpoint.Checkpoints;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.checkpoint.StateObjectCollection;
import org.apache.flink.runtime.checkpoint.channel.InputChannelInfo;
import org.apache.flink.runtime.checkpoint.channel.ResultSubpartitionInfo;
import org.apache.flink.runtime.checkpoint.filemerging.LogicalFile.LogicalFileId;
import org.apache.flink.runtime.checkpoint.metadata.CheckpointMetadata;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.state.CheckpointedStateScope;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.InputChannelStateHandle;
import org.apache.flink.runtime.state.InputStateHandle;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.OutputStateHandle;
import org.apache.flink.runtime.state.ResultSubpartitionStateHandle;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.filemerging.SegmentFileStateHandle;
import org.apache.flink.runtime.state.filesystem.FileStateHandle;
import org.apache.flink.runtime.state.filesystem.RelativeFileStateHandle;

/**
 * Writes a big {@code _metadata} by Flink's own serializer: {@code FILE SHAPE OPERATORS SUBTASKS FILES JOB}.
 *
 * <p>Shapes: {@code incremental} has for each subtask FILES shared SST files by absolute path, two private files and the
 * backend's meta data. In {@code segment} the shared files are parts of merged files, 64 in one. {@code channel} has FILES
 * input channels and as many result subpartitions, all of a subtask in one file. The same arguments give the same bytes,
 * but for the random ids of segments.
 */
public final class GenerateMetadata {
    private static final long CHECKPOINT = 42;
    private static final int SEGMENTS_IN_A_FILE = 64;

    private final Random random = new Random(1);
    private final String root;
    private long handles;

    private GenerateMetadata(String job) {
        root = "s3://flink-state/checkpoints/" + job;
    }

    public static void main(String[] arguments) throws Exception {
        File file = new File(arguments[0]);
        GenerateMetadata generate = new GenerateMetadata(arguments[5]);
        List<OperatorState> operators =
                generate.operators(
                        arguments[1],
                        Integer.parseInt(arguments[2]),
                        Integer.parseInt(arguments[3]),
                        Integer.parseInt(arguments[4]));
        CheckpointMetadata metadata =
                new CheckpointMetadata(
                        CHECKPOINT,
                        operators,
                        Collections.emptyList(),
                        CheckpointProperties.forCheckpoint(
                                CheckpointRetentionPolicy.RETAIN_ON_CANCELLATION));
        try (OutputStream out = new BufferedOutputStream(new FileOutputStream(file), 1 << 20)) {
            Checkpoints.storeCheckpointMetadata(metadata, out);
        }
        System.out.println(generate.handles + " handles, " + file.length() + " bytes");
    }

    private List<OperatorState> operators(String shape, int operators, int subtasks, int files) {
        int maxParallelism = Math.max(128, Integer.highestOneBit(subtasks) * 4);
        List<OperatorState> states = new ArrayList<>();
        for (int operator = 0; operator < operators; operator++) {
            OperatorID id = new OperatorID(random.nextLong(), random.nextLong());
            OperatorState state =
                    new OperatorState(
                            "Operator " + operator, "uid-" + operator, id, subtasks, maxParallelism);
            for (int subtask = 0; subtask < subtasks; subtask++) {
                KeyGroupRange range =
                        KeyGroupRange.of(
                                subtask * maxParallelism / subtasks,
                                (subtask + 1) * maxParallelism / subtasks - 1);
                state.putState(subtask, subtask(shape, operator, subtask, files, range));
            }
            states.add(state);
        }
        return states;
    }

    private OperatorSubtaskState subtask(
            String shape, int operator, int subtask, int files, KeyGroupRange range) {
        OperatorSubtaskState.Builder state = OperatorSubtaskState.builder();
        switch (shape) {
            case "incremental":
                return state.setManagedKeyedState(incremental(range, shared(files))).build();
            case "segment":
                String folder = root + "/shared/job_" + operator + "_op_" + subtask + "_" + files;
                return state.setManagedKeyedState(incremental(range, segments(folder, files))).build();
            case "channel":
                return channels(state, subtask, files);
            default:
                throw new IllegalArgumentException(shape);
        }
    }

    private IncrementalRemoteKeyedStateHandle incremental(
            KeyGroupRange range, List<HandleAndLocalPath> shared) {
        List<HandleAndLocalPath> own = new ArrayList<>();
        for (String name : new String[] {"MANIFEST-000004", "OPTIONS-000010"}) {
            own.add(HandleAndLocalPath.of(relative(), name));
        }
        // The two and the backend's meta data.
        handles += shared.size() + 3;
        return new IncrementalRemoteKeyedStateHandle(
                uuid(), range, CHECKPOINT, shared, own, relative(), 12345L);
    }

    private List<HandleAndLocalPath> shared(int files) {
        List<HandleAndLocalPath> shared = new ArrayList<>();
        for (int file = 0; file < files; file++) {
            Path path = new Path(root + "/shared/" + uuid());
            shared.add(
                    HandleAndLocalPath.of(
                            new FileStateHandle(path, 1000 + random.nextInt(1 << 26)), sst(file)));
        }
        return shared;
    }

    private List<HandleAndLocalPath> segments(String folder, int files) {
        List<HandleAndLocalPath> shared = new ArrayList<>();
        Path merged = null;
        for (int file = 0; file < files; file++) {
            if (file % SEGMENTS_IN_A_FILE == 0) {
                merged = new Path(folder + "/" + uuid());
            }
            StreamStateHandle part =
                    new SegmentFileStateHandle(
                            merged,
                            file % SEGMENTS_IN_A_FILE * 1000L,
                            1000L,
                            CheckpointedStateScope.SHARED,
                            LogicalFileId.generateRandomId());
            shared.add(HandleAndLocalPath.of(part, sst(file)));
        }
        return shared;
    }

    private OperatorSubtaskState channels(OperatorSubtaskState.Builder state, int subtask, int files) {
        StreamStateHandle all = relative();
        List<InputStateHandle> in = new ArrayList<>();
        List<OutputStateHandle> out = new ArrayList<>();
        for (int n = 0; n < files; n++) {
            List<Long> offsets = List.of(4L * n, 4L * n + 2);
            in.add(new InputChannelStateHandle(subtask, new InputChannelInfo(0, n), all, offsets, 100));
            out.add(
                    new ResultSubpartitionStateHandle(
                            subtask, new ResultSubpartitionInfo(0, n), all, List.of(8L * n), 100));
        }
        handles += in.size() + out.size();
        return state.setInputChannelState(new StateObjectCollection<>(in))
                .setResultSubpartitionState(new StateObjectCollection<>(out))
                .build();
    }

    private StreamStateHandle relative() {
        String name = uuid().toString();
        return new RelativeFileStateHandle(
                new Path(root + "/chk-" + CHECKPOINT + "/" + name), name, 500 + random.nextInt(100000));
    }

    private static String sst(int file) {
        return String.format("%06d.sst", 10 + file);
    }

    /** As random UUIDs of version 4 are, but the same in each run. */
    private UUID uuid() {
        long most = random.nextLong() & 0xFFFF_FFFF_FFFF_0FFFL | 0x4000;
        return new UUID(most, random.nextLong() & 0x3FFF_FFFF_FFFF_FFFFL | 0x8000_0000_0000_0000L);
    }
}
