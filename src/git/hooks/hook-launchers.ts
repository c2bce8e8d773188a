import { existsSync, lstatSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'

/** Where the files of one run of a hook are. */
export interface HookPlace {
  /** Of this run alone; absolute. */
  readonly folder: string
  /** Name of the script in it. */
  readonly script: string
  /** Path of the bare repository. */
  readonly repository: string
  readonly timeoutMs: number
}

/** How to start a script. */
export interface HookLaunch {
  /** Program and arguments; behind them come those of the script. */
  readonly command: readonly string[]
  /** What the script takes for these folders. */
  readonly repository: string
  readonly home: string
  /** Whether all processes of the script end with the one that is started. */
  readonly isContained: boolean
}

/** A way to start scripts. */
export interface HookLauncher {
  readonly kind: 'bubblewrap' | 'plain'
  launch(place: HookPlace): HookLaunch
}

/** What a script has for temporary files, in the folder of its run. */
export const HOME_FOLDER = 'home'

/** Of each temporary folder in the sandbox, which are memory. */
const MAX_TEMPORARY_BYTES = 64 * 1024 * 1024

/** Lower than everything that people wait for. */
const NICE = ['nice', '-n', '10']

/**
 * A process may not have more than these, by prlimit(1): no core files, which are copies of memory;
 * files and memory as Git needs them for repositories of some size. The last is by what is written
 * to (RLIMIT_DATA), since runtimes reserve addresses by the terabyte. Time of the processor is for
 * what outlives a server that was killed.
 */
function limits({ timeoutMs }: HookPlace, ...more: string[]): string[] {
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

/**
 * Both outputs as one, as Git has it for hooks; what goes wrong before goes to the standard error
 * of the launcher.
 */
const ONE_OUTPUT = ['sh', '-c', 'exec "$@" 2>&1', 'hook']

/**
 * Folders of the system that are links on some machines: into `/usr`, where that has taken them in.
 */
const SYSTEM_FOLDERS = ['/bin', '/sbin', '/lib', '/lib32', '/lib64']

/**
 * What programs need of the configuration of the machine to start at all, and to tell names and
 * times.
 */
const SYSTEM_FILES = [
  '/etc/alternatives',
  '/etc/group',
  '/etc/ld.so.cache',
  '/etc/localtime',
  '/etc/nsswitch.conf',
  '/etc/passwd',
]

/** Inside the sandbox. */
const REPOSITORY = '/repository.git'
const SCRIPTS = '/hook'

/**
 * bwrap(1): the programs of the machine and the repository, both read-only, are all there is. Not
 * even objects under review can be added to: Git takes over whatever it finds beside them, and
 * follows symbolic links to any file of the server to do so (tmp-objdir.c of Git). No network, no
 * processes but its own, which end with it; no privileges, and no way to new ones.
 *
 * @param moreLimits for prlimit(1).
 */
function bubblewrap(namespaces: readonly string[], ...moreLimits: string[]): HookLauncher {
  return {
    kind: 'bubblewrap',
    launch(place) {
      const { folder, script, repository } = place
      const temporary = (path: string) => ['--size', String(MAX_TEMPORARY_BYTES), '--tmpfs', path]
      return {
        command: [
          ...NICE,
          'bwrap',
          ...namespaces,
          // As root it would keep them, and could mount everything anew.
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
          ...limits(place, ...moreLimits),
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

/**
 * Nothing but limits. The script ends with the server, and gets no privileges by programs that give
 * some.
 */
const PLAIN: HookLauncher = {
  kind: 'plain',
  launch(place) {
    const { folder, script, repository } = place
    return {
      command: [
        ...['setpriv', '--pdeathsig', 'KILL', '--no-new-privs', '--'],
        ...NICE,
        ...limits(place),
        ...ONE_OUTPUT,
        join(folder, script),
      ],
      repository,
      home: join(folder, HOME_FOLDER),
      isContained: false,
    }
  },
}

/** Every way, the tightest first. Not every machine has what one takes. */
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
    // Processes are counted by user: where the sandbox has users of its own, those of the server do
    // not count.
    '--nproc=256',
  ),
  // Before 0.8 it could not keep scripts from nesting namespaces; where it is setuid, it may have
  // to do without that of users.
  bubblewrap(['--unshare-all']),
  PLAIN,
]
