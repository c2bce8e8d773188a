import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execFile } from './programs.ts'

/** The machine's git as somebody's, in a home of its own. */
export interface GitClient {
  /** Where clones go. */
  readonly home: string
  /**
   * Runs git in a folder below the home, or in the home itself with `.`, and returns what it
   * printed.
   *
   * @throws with what it printed on stderr when it fails.
   */
  git(folder: string, ...args: string[]): Promise<string>
  /** Makes an empty commit in a clone and returns its id. */
  commit(folder: string, message: string): Promise<string>
  /** Removes the home. */
  remove(): Promise<void>
}

/** Makes a home for git. */
export async function openGitClient(name = 'Bob'): Promise<GitClient> {
  const home = await mkdtemp(join(tmpdir(), 'branchline-git-'))
  const email = `${name.toLowerCase()}@example.org`
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: home,
    GIT_CONFIG_NOSYSTEM: '1',
    // Each commit and each fetch would start one more process, which finds nothing to do.
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: 'maintenance.auto',
    GIT_CONFIG_VALUE_0: 'false',
    GIT_TERMINAL_PROMPT: '0',
    GIT_AUTHOR_NAME: name,
    GIT_AUTHOR_EMAIL: email,
    GIT_COMMITTER_NAME: name,
    GIT_COMMITTER_EMAIL: email,
    LC_ALL: 'C',
  }
  const git = async (folder: string, ...args: string[]) => {
    const { stdout } = await execFile('git', ['-C', join(home, folder), ...args], { env })
    return stdout.trimEnd()
  }
  return {
    home,
    git,
    async commit(folder, message) {
      await git(folder, 'commit', '-q', '--allow-empty', '-m', message)
      return git(folder, 'rev-parse', 'HEAD')
    },
    remove: () => rm(home, { recursive: true }),
  }
}

/** The URL of a repository for git, with credentials in it unless it is nobody who asks. */
export function remoteOf(url: string, path: string, username?: string, password = ''): string {
  const remote = new URL(`${url}/${path}.git`)
  if (username !== undefined) Object.assign(remote, { username, password })
  return remote.href
}
