import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cacheFolder } from '../../scripts/setup/addon-cache.mjs'
import { freePort } from './free-port.ts'
import type { Actor } from './server.ts'
import { isLongTier } from './tier.ts'

/** The Gitea of the tests, which Go compiles. */
const MODULE = 'code.gitea.io/gitea@v1.26.0'
const TOOLS = join(cacheFolder(), '..', 'tools')
const PROGRAM = join(TOOLS, 'gitea')
const BUILD_TIMEOUT_MS = 90 * 60_000

/** Why tests with Gitea cannot run here; undefined if they can. The long tests compile Gitea. */
export function giteaObstacle(): string | undefined {
  if (!isLongTier) return 'only the long tests compile and start Gitea'
  const module = spawnSync('go', ['mod', 'download', '-json', MODULE], { encoding: 'utf8' })
  if (module.status !== 0) return 'go is not installed, or the module cannot be downloaded'
  if (existsSync(PROGRAM)) return undefined
  const args = ['build', '-tags', 'sqlite sqlite_unlock_notify', '-o', PROGRAM, '.']
  const built = spawnSync('go', args, { cwd: sourceFolder(), timeout: BUILD_TIMEOUT_MS })
  return built.status === 0 ? undefined : 'Gitea cannot be compiled'
}

/** The folder of the module, where Gitea finds its templates. */
function sourceFolder(): string {
  const module = execFileSync('go', ['mod', 'download', '-json', MODULE], { encoding: 'utf8' })
  return JSON.parse(module).Dir
}

/** Somebody with an account at Gitea. */
interface GiteaUser extends Actor {
  readonly token: string
}

export interface GiteaServer {
  readonly url: string
  readonly users: { readonly bob: GiteaUser; readonly carol: GiteaUser }
  stop(): Promise<void>
}

/** Starts Gitea with SQLite in a folder of its own, with the users bob and carol. */
export async function startGitea(): Promise<GiteaServer> {
  const folder = await mkdtemp(join(tmpdir(), 'branchline-gitea-'))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const settings = join(folder, 'app.ini')
  await mkdir(join(folder, 'home'))
  await writeFile(settings, settingsOf(folder, port))
  const options = {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', HOME: join(folder, 'home'), GITEA_WORK_DIR: folder },
  }
  const gitea = (...args: string[]) =>
    execFileSync(PROGRAM, ['--config', settings, ...args], { ...options, encoding: 'utf8' })
  gitea('migrate')
  const child = spawn(PROGRAM, ['--config', settings, 'web'], { ...options, stdio: 'ignore' })
  while (!(await fetch(`${url}/api/healthz`).catch(() => undefined))?.ok)
    await new Promise(setImmediate)
  const user = (username: string): GiteaUser => {
    const address = ['--email', `${username}@example.org`, '--password', 'correct horse battery']
    const flags = ['--must-change-password=false']
    gitea('admin', 'user', 'create', '--username', username, ...address, ...flags)
    const scopes = ['--token-name', 'tests', '--scopes', 'all', '--raw']
    const printed = gitea(
      'admin',
      'user',
      'generate-access-token',
      '--username',
      username,
      ...scopes,
    )
    // A line of the log comes before the token.
    const token = printed.trim().split('\n').at(-1) ?? ''
    return { username, token, authorization: `token ${token}` }
  }
  return {
    url,
    users: { bob: user('bob'), carol: user('carol') },
    async stop() {
      child.kill('SIGTERM')
      await once(child, 'exit')
      await rm(folder, { recursive: true })
    },
  }
}

const settingsOf = (folder: string, port: number) => `I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
RUN_MODE = prod
WORK_PATH = ${folder}
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = ${port}
ROOT_URL = http://127.0.0.1:${port}/
STATIC_ROOT_PATH = ${sourceFolder()}
DISABLE_SSH = true
OFFLINE_MODE = true
[database]
DB_TYPE = sqlite3
PATH = ${join(folder, 'gitea.db')}
[security]
INSTALL_LOCK = true
SECRET_KEY = of the tests
[repository]
ROOT = ${join(folder, 'repositories')}
[attachment]
ALLOWED_TYPES = */*
[log]
LEVEL = Error
`
