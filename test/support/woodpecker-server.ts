import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cacheFolder } from '../../scripts/setup/addon-cache.mjs'
import { openBrowser } from './browser.ts'
import type { Forge } from './forge.ts'
import { freePort } from './free-port.ts'
import { register, signInOn } from './oauth-clients.ts'
import type { Actor } from './server.ts'
import { isLongTier } from './tier.ts'

/** The Woodpecker of the tests, which Go compiles. */
const MODULE = 'github.com/woodpecker-ci/woodpecker@v1.0.5'
/** The published version in place of a commit that Woodpecker requires and the proxies do not have. */
const REPLACEMENT = 'xorm.io/xorm=xorm.io/xorm@v1.3.4'
const TOOLS = join(cacheFolder(), '..', 'tools')
const PROGRAMS = ['server', 'agent'] as const
const BUILD_TIMEOUT_MS = 90 * 60_000

const programOf = (name: (typeof PROGRAMS)[number]) => join(TOOLS, `woodpecker-${name}`)

/** Why tests with Woodpecker cannot run here; undefined if they can. The long tests compile Woodpecker. */
export function woodpeckerObstacle(): string | undefined {
  if (!isLongTier) return 'only the long tests compile and start Woodpecker'
  if (PROGRAMS.every((name) => existsSync(programOf(name)))) return undefined
  const module = spawnSync('go', ['mod', 'download', '-json', MODULE], { encoding: 'utf8' })
  if (module.status !== 0) return 'go is not installed, or the module cannot be downloaded'
  try {
    compile(JSON.parse(module.stdout).Dir)
    return undefined
  } catch {
    return 'Woodpecker cannot be compiled'
  }
}

/** Compiles both programs from a copy of the module, which lacks the pages of the server. */
function compile(module: string) {
  const source = join(TOOLS, 'woodpecker-source')
  execFileSync('rm', ['-rf', source])
  cpSync(module, source, { recursive: true })
  execFileSync('chmod', ['-R', 'u+w', source])
  mkdirSync(join(source, 'web', 'dist'))
  writeFileSync(join(source, 'web', 'dist', 'index.html'), '<title>Woodpecker</title>')
  const env = { ...process.env, GOFLAGS: '-mod=mod' }
  const go = (...args: string[]) =>
    execFileSync('go', args, { cwd: source, env, timeout: BUILD_TIMEOUT_MS, stdio: 'ignore' })
  go('mod', 'edit', '-replace', REPLACEMENT)
  for (const name of PROGRAMS) go('build', '-o', programOf(name), `./cmd/${name}`)
  execFileSync('rm', ['-rf', source])
}

export interface WoodpeckerServer {
  /** Signs somebody in by the forge, and runs the pipelines of a repository of that person. */
  enable(who: Actor & { readonly username: string }, repositoryId: number): Promise<void>
  stop(): Promise<void>
}

/** Starts a server of Woodpecker for a forge, and an agent that runs commands on this machine. */
export async function startWoodpecker(forge: Forge): Promise<WoodpeckerServer> {
  const folder = await mkdtemp(join(tmpdir(), 'branchline-woodpecker-'))
  const url = `http://127.0.0.1:${await freePort()}`
  const agentAddress = `127.0.0.1:${await freePort()}`
  const redirects = { redirect_uris: [`${url}/authorize`] }
  const client = await register(forge, forge.users.ada, redirects)
  const shared = {
    PATH: process.env.PATH ?? '',
    HOME: folder,
    WOODPECKER_AGENT_SECRET: 'shared by server and agent',
    WOODPECKER_LOG_LEVEL: 'error',
  }
  const server = start('server', folder, {
    ...shared,
    WOODPECKER_HOST: url,
    WOODPECKER_SERVER_ADDR: new URL(url).host,
    WOODPECKER_GRPC_ADDR: agentAddress,
    WOODPECKER_OPEN: 'true',
    WOODPECKER_DATABASE_DATASOURCE: join(folder, 'woodpecker.db'),
    WOODPECKER_GITEA: 'true',
    WOODPECKER_GITEA_URL: forge.server.url,
    WOODPECKER_GITEA_CLIENT: client.client_id,
    WOODPECKER_GITEA_SECRET: client.client_secret,
  })
  while (!(await fetch(`${url}/healthz`).catch(() => undefined))?.ok)
    await new Promise(setImmediate)
  const agent = start('agent', folder, {
    ...shared,
    WOODPECKER_SERVER: agentAddress,
    WOODPECKER_BACKEND: 'local',
    WOODPECKER_HEALTHCHECK: 'false',
    WOODPECKER_AGENT_CONFIG_FILE: join(folder, 'agent.conf'),
  })
  return {
    enable: (who, repositoryId) => enable(forge, url, who.username, repositoryId),
    async stop() {
      for (const child of [agent, server]) {
        child.kill('SIGKILL')
        await once(child, 'exit')
      }
      await rm(folder, { recursive: true })
    },
  }
}

const start = (name: (typeof PROGRAMS)[number], cwd: string, env: NodeJS.ProcessEnv) =>
  spawn(programOf(name), { cwd, env, stdio: 'ignore' }) satisfies ChildProcess

async function enable(forge: Forge, url: string, username: string, repositoryId: number) {
  const session = openBrowser(url)
  const sent = await session.open(`${url}/authorize`)
  const atForge = openBrowser(forge.server.url)
  await atForge.open(sent.headers.get('location') ?? '')
  await signInOn(atForge, username)
  const allowed = await atForge.press('allow')
  await session.open(allowed.headers.get('location') ?? '')
  // Woodpecker wants this value in requests that a browser sends with its cookie.
  const { body } = await session.send(`${url}/web-config.js`)
  const csrf = /WOODPECKER_CSRF = "([^"]+)"/.exec(body)?.[1] ?? ''
  const request = { method: 'POST', headers: { 'x-csrf-token': csrf } }
  await session.send(`${url}/api/user/repos?flush=true`)
  const answer = await session.send(`${url}/api/repos?forge_remote_id=${repositoryId}`, request)
  if (answer.status !== 200) throw new Error(`not enabled: ${answer.status} ${answer.body}`)
}
