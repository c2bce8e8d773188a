import { existsSync, lstatSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'

/** Paths and limits of one run of a hook. */
export interface HookFiles {
  /** Absolute path of the folder of this run. */
  readonly folder: string
  /** Name of the script in the folder. */
  readonly script: string
  /** Path of the bare repository. */
  readonly repository: string
  readonly timeoutMs: number
}

/** The command that starts a script. */
export interface HookLaunch {
  /** Program and arguments. The arguments of the script follow. */
  readonly command: readonly string[]
  /** Paths of the repository and the home folder as the script sees them. */
  readonly repository: string
  readonly home: string
  /** Whether all processes of the script end with the first one. */
  readonly isContained: boolean
}

/** A method to start scripts. */
export interface HookLauncher {
  readonly kind: 'bubblewrap' | 'plain'
  launch(files: HookFiles): HookLaunch
}

/** Folder for temporary files of a script, in the folder of its run. */
export const HOME_FOLDER = 'home'

/** Limit of each temporary folder in the sandbox, which is in memory. */
const MAX_TEMPORARY_BYTES = 64 * 1024 * 1024

/** A lower priority than that of requests. */
const NICE = ['nice', '-n', '10']

/**
 * Returns the limits of each process of a script, by prlimit(1): no core files, which contain the
 * memory; enough files and memory for Git in large repositories. The memory limit counts writable
 * memory (RLIMIT_DATA), since runtimes reserve terabytes of addresses. The limit of CPU time ends
 * scripts that outlive a killed server.
 */
function limits({ timeoutMs }: HookFiles, ...more: string[]): string[] {
  const cpuSeconds = Math.ceil(timeoutMs / 1000) + 1
  return [
    'prlimit',
    '--core=0',
    '--nofile=1024',
    '--fsize=268435456',
    '--data=1073741824',
    `--cpu=${cpuSeconds}`,
    ...more,
  ]
}

/** Joins both outputs of the script, as Git does. Earlier errors go to stderr of the launcher. */
const ONE_OUTPUT = ['sh', '-c', 'exec "$@" 2>&1', 'hook']

/** System folders that are symbolic links into `/usr` on some systems. */
const SYSTEM_FOLDERS = ['/bin', '/sbin', '/lib', '/lib32', '/lib64']

/** Configuration files that programs need to start and to resolve names and times. */
const SYSTEM_FILES = [
  '/etc/alternatives',
  '/etc/group',
  '/etc/ld.so.cache',
  '/etc/localtime',
  '/etc/nsswitch.conf',
  '/etc/passwd',
]

/** Paths in the sandbox. */
const REPOSITORY = '/repository.git'
const SCRIPTS = '/hook'

/**
 * Creates a launcher with a sandbox (bwrap(1)). The sandbox contains only the programs of the
 * system and the repository, both read-only. Objects under review are read-only too, since Git
 * adopts all files beside them and follows symbolic links to any file of the server (tmp-objdir.c
 * of Git). The script has no network and no privileges, sees only its own processes, and cannot
 * gain privileges. Its processes end with the sandbox.
 *
 * @param moreLimits further options of prlimit(1).
 */
function bubblewrap(namespaces: readonly string[], ...moreLimits: string[]): HookLauncher {
  return {
    kind: 'bubblewrap',
    launch(files) {
      const { folder, script, repository } = files
      const temporary = (path: string) => ['--size', String(MAX_TEMPORARY_BYTES), '--tmpfs', path]
      return {
        command: [
          ...NICE,
          'bwrap',
          ...namespaces,
          // Root would keep its capabilities and could mount file systems again.
          ...['--cap-drop', 'ALL'],
          '--die-with-parent',
          '--new-session',
          ...['--ro-bind', '/usr', '/usr'],
          ...SYSTEM_FOLDERS.flatMap(systemFolder),
          ...SYSTEM_FILES.flatMap((file) => ['--ro-bind-try', file, file]),
          ...['--proc', '/proc'],
          ...['--dev', '/dev', ...temporary('/dev/shm'), '--remount-ro', '/dev'],
          ...temporary('/tmp'),
          ...['--ro-bind', repository, REPOSITORY],
          ...['--ro-bind', join(folder, script), join(SCRIPTS, script)],
          ...['--remount-ro', '/'],
          ...['--chdir', REPOSITORY],
          '--',
          ...limits(files, ...moreLimits),
          ...ONE_OUTPUT,
          join(SCRIPTS, script),
        ],
        repository: REPOSITORY,
        home: '/tmp',
        isContained: true,
      }
    },
  }
}

function systemFolder(path: string): string[] {
  if (!existsSync(path)) return []
  return lstatSync(path).isSymbolicLink()
    ? ['--symlink', readlinkSync(path), path]
    : ['--ro-bind', path, path]
}

/** A launcher without a sandbox. The script ends with the server and cannot gain privileges. */
const PLAIN: HookLauncher = {
  kind: 'plain',
  launch(files) {
    const { folder, script, repository } = files
    return {
      command: [
        ...['setpriv', '--pdeathsig', 'KILL', '--no-new-privs', '--'],
        ...NICE,
        ...limits(files),
        ...ONE_OUTPUT,
        join(folder, script),
      ],
      repository,
      home: join(folder, HOME_FOLDER),
      isContained: false,
    }
  },
}

/** All launchers, the most restrictive first. Not every system supports all of them. */
export const LAUNCHERS: readonly HookLauncher[] = [
  bubblewrap(
    [
      ...[
        '--unshare-user',
        '--unshare-ipc',
        '--unshare-pid',
        '--unshare-net',
        '--unshare-uts',
        '--unshare-cgroup-try',
      ],
      '--disable-userns',
    ],
    // The limit is by user. In a user namespace, the processes of the server do not count.
    '--nproc=256',
  ),
  // bwrap before 0.8 cannot prevent nested namespaces. A setuid bwrap may lack user namespaces.
  bubblewrap(['--unshare-all']),
  PLAIN,
]
