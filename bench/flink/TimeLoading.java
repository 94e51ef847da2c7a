import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import org.apache.flink.core.fs.Path;
import org.apache.flink.runtime.checkpoint.Checkpoints;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.runtime.checkpoint.metadata.CheckpointMetadata;
import org.apache.flink.runtime.state.filesystem.FileStateHandle;

/**
 * Times Flink's own load of the {@code _metadata} that its argument names: one load for each line on standard input.
 *
 * <p>A line is {@code memory} (from a byte array) or {@code file} (as Flink does it, by the stream of its local file system).
 * The answer is one line: wall time, CPU time of the loading thread and of the whole process in nanoseconds, and the sum of all
 * state sizes in bytes, which shows that all of it was read.
 */
public final class TimeLoading {
    public static void main(String[] arguments) throws Exception {
        File file = new File(arguments[0]).getAbsoluteFile();
        byte[] bytes = Files.readAllBytes(file.toPath());
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        ThreadMXBean thread = ManagementFactory.getThreadMXBean();
        OperatingSystemMXBean process =
                (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        for (String line; (line = lines.readLine()) != null; ) {
            // What the load before has left isn't this one's cost.
            System.gc();
            long processCpu = process.getProcessCpuTime();
            long threadCpu = thread.getCurrentThreadCpuTime();
            long wall = System.nanoTime();
            CheckpointMetadata metadata = load(line, file, bytes);
            wall = System.nanoTime() - wall;
            threadCpu = thread.getCurrentThreadCpuTime() - threadCpu;
            processCpu = process.getProcessCpuTime() - processCpu;
            long size = 0;
            for (OperatorState operator : metadata.getOperatorStates()) {
                size += operator.getStateSize();
            }
            System.out.println(wall + " " + threadCpu + " " + processCpu + " " + size);
        }
    }

    private static CheckpointMetadata load(String from, File file, byte[] bytes) throws IOException {
        try (InputStream in = open(from, file, bytes)) {
            return Checkpoints.loadCheckpointMetadata(
                    new DataInputStream(in),
                    TimeLoading.class.getClassLoader(),
                    "file://" + file.getParent());
        }
    }

    private static InputStream open(String from, File file, byte[] bytes) throws IOException {
        switch (from) {
            case "memory":
                return new ByteArrayInputStream(bytes);
            case "file":
                return new FileStateHandle(new Path(file.toURI()), file.length()).openInputStream();
            default:
                throw new IllegalArgumentException(from);
        }
    }
}
