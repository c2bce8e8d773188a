import java.io.File;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.PublicKey;
import java.util.List;
import java.util.stream.Stream;
import org.eclipse.jgit.api.Git;
import org.eclipse.jgit.api.PushCommand;
import org.eclipse.jgit.lib.ObjectId;
import org.eclipse.jgit.lib.PersonIdent;
import org.eclipse.jgit.revwalk.RevCommit;
import org.eclipse.jgit.transport.CredentialsProvider;
import org.eclipse.jgit.transport.PushResult;
import org.eclipse.jgit.transport.RefSpec;
import org.eclipse.jgit.transport.RemoteRefUpdate;
import org.eclipse.jgit.transport.SshSessionFactory;
import org.eclipse.jgit.transport.UsernamePasswordCredentialsProvider;
import org.eclipse.jgit.transport.sshd.ServerKeyDatabase;
import org.eclipse.jgit.transport.sshd.SshdSessionFactoryBuilder;

/**
 * Clones a repository three times by JGit, pushes a commit, a tag and a branch, fetches them, is refused
 * and forces, and deletes the branch. Prints a line for each result.
 *
 * <p>Arguments: URL, empty folder, and either a private key or a user name with a password.
 */
public final class JGitClient {
  private static final PersonIdent ADA = new PersonIdent("Ada", "ada@example.org");

  private final String url;
  private final Path folder;
  private final CredentialsProvider credentials;

  private JGitClient(String url, Path folder, CredentialsProvider credentials) {
    this.url = url;
    this.folder = folder;
    this.credentials = credentials;
  }

  public static void main(String[] args) throws Exception {
    Path folder = Path.of(args[1]);
    boolean byKey = args.length == 3;
    if (byKey) useKey(Path.of(args[2]), folder.toFile());
    CredentialsProvider credentials =
        byKey ? null : new UsernamePasswordCredentialsProvider(args[2], args[3]);
    new JGitClient(args[0], folder, credentials).run();
  }

  private static void useKey(Path key, File home) {
    ServerKeyDatabase anyServer =
        new ServerKeyDatabase() {
          @Override
          public List<PublicKey> lookup(String name, InetSocketAddress peer, Configuration config) {
            return List.of();
          }

          @Override
          public boolean accept(
              String name,
              InetSocketAddress peer,
              PublicKey key,
              Configuration config,
              CredentialsProvider provider) {
            return true;
          }
        };
    SshSessionFactory.setInstance(
        new SshdSessionFactoryBuilder()
            .setPreferredAuthentications("publickey")
            .setHomeDirectory(home)
            .setSshDirectory(home)
            .setDefaultIdentities(directory -> List.of(key))
            .setServerKeyDatabase((directory, keys) -> anyServer)
            .build(null));
  }

  private void run() throws Exception {
    try (Git one = cloneTo("one", 0);
        Git two = cloneTo("two", 0);
        Git shallow = cloneTo("shallow", 1)) {
      print("clone", head(one));
      int commits = 0;
      for (RevCommit ignored : shallow.log().call()) commits += 1;
      print("shallow commits", String.valueOf(commits));
      String pushed = commit(one, "one.txt").name();
      one.tag().setName("by-jgit").setMessage("by JGit").setTagger(ADA).setSigned(false).call();
      push(one, false, "HEAD:refs/heads/main", "HEAD:refs/heads/jgit", "refs/tags/by-jgit");
      print("pushed", pushed);
      two.fetch().setCredentialsProvider(credentials).call();
      print("fetched", two.getRepository().resolve("origin/main").name());
      print("tag", two.getRepository().resolve("by-jgit^{commit}").name());
      String other = commit(two, "two.txt").name();
      push(two, false, "HEAD:refs/heads/jgit");
      push(two, true, "HEAD:refs/heads/jgit");
      print("forced", other);
      push(two, false, ":refs/heads/jgit");
    }
  }

  private Git cloneTo(String name, int depth) throws Exception {
    var command =
        Git.cloneRepository()
            .setURI(url)
            .setDirectory(folder.resolve(name).toFile())
            .setCredentialsProvider(credentials);
    if (depth > 0) command.setDepth(depth);
    return command.call();
  }

  private RevCommit commit(Git git, String file) throws Exception {
    Files.writeString(git.getRepository().getWorkTree().toPath().resolve(file), folder + file);
    git.add().addFilepattern(file).call();
    return git.commit()
        .setMessage(file)
        .setAuthor(ADA)
        .setCommitter(ADA)
        .setSign(false)
        .call();
  }

  private void push(Git git, boolean force, String... refs) throws Exception {
    PushCommand command = git.push().setForce(force).setCredentialsProvider(credentials);
    command.setRefSpecs(Stream.of(refs).map(RefSpec::new).toList());
    for (PushResult result : command.call())
      for (RemoteRefUpdate update : result.getRemoteUpdates())
        print("push " + update.getRemoteName(), update.getStatus().name());
  }

  private static String head(Git git) throws Exception {
    ObjectId head = git.getRepository().resolve("HEAD");
    return head.name();
  }

  private static void print(String name, String value) {
    System.out.println(name + ": " + value);
  }
}
