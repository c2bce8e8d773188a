import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createGunzip } from 'node:zlib'
import { execFileSync } from './programs.ts'

/** A server of Git on loopback that is none of ours, with one repository. */
export interface GitUpstream {
  /** URL of the repository. */
  readonly url: string
  /**
   * What was asked, `METHOD path`, with the value of the Authorization header behind it if there
   * was one.
   */
  readonly asked: readonly string[]
  /** Answers requests in its own way from now on; returns whether it did. */
  intercept: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined
  /** Runs git in the repository and returns what it prints, without the line end. */
  git(...args: string[]): string
  /** Makes an empty commit on a branch, which may be new, and returns its id. */
  commit(branch: string, message?: string): string
  stop(): Promise<void>
}

const ENVIRONMENT = {
  PATH: process.env.PATH ?? '',
  GIT_CONFIG_NOSYSTEM: '1',
  HOME: '/nonexistent',
  LC_ALL: 'C',
  GIT_AUTHOR_NAME: 'Uma',
  GIT_AUTHOR_EMAIL: 'uma@example.org',
  GIT_COMMITTER_NAME: 'Uma',
  GIT_COMMITTER_EMAIL: 'uma@example.org',
}

/** Starts one whose repository is empty, with HEAD on `main`. */
export async function startGitUpstream(): Promise<GitUpstream> {
  const folder = await mkdtemp(join(tmpdir(), 'branchline-upstream-'))
  const repository = join(folder, 'engine.git')
  execFileSync('git', ['init', '-q', '--bare', '-b', 'main', repository], { env: ENVIRONMENT })
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', repository, ...args], {
      env: ENVIRONMENT,
      encoding: 'utf8',
    }).trimEnd()
  const asked: string[] = []
  const server = createServer((request, response) => {
    const { authorization } = request.headers
    asked.push([request.method, request.url, ...(authorization ? [authorization] : [])].join(' '))
    if (!upstream.intercept?.(request, response)) serve(repository, request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const upstream: GitUpstream = {
    url: `http://127.0.0.1:${port}/uma/engine.git`,
    asked,
    intercept: undefined,
    git,
    commit(branch, message = 'work') {
      const ref = `refs/heads/${branch}`
      const parent = git('for-each-ref', '--format=%(objectname)', ref)
      const tree = git('hash-object', '-t', 'tree', '-w', '/dev/null')
      const id = git('commit-tree', tree, '-m', message, ...(parent ? ['-p', parent] : []))
      git('update-ref', ref, id)
      return id
    },
    async stop() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
      await rm(folder, { recursive: true })
    },
  }
  return upstream
}

/** The half of the smart protocol that clients fetch from (gitprotocol-http(5)). */
export function serve(
  repository: string,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const isAdvertisement = request.url?.endsWith('/info/refs?service=git-upload-pack')
  if (!isAdvertisement && !request.url?.endsWith('/git-upload-pack')) {
    response.writeHead(404).end()
    return
  }
  const protocol = request.headers['git-protocol']
  const flags = isAdvertisement ? ['--http-backend-info-refs'] : []
  const child = spawn('git', ['upload-pack', '--stateless-rpc', ...flags, repository], {
    env: { ...ENVIRONMENT, ...(typeof protocol === 'string' && { GIT_PROTOCOL: protocol }) },
  })
  child.stdin.on('error', () => {})
  const type = isAdvertisement ? 'advertisement' : 'result'
  response.writeHead(200, { 'content-type': `application/x-git-upload-pack-${type}` })
  if (isAdvertisement) response.write('001e# service=git-upload-pack\n0000')
  child.stdout.pipe(response)
  if (request.headers['content-encoding'] === 'gzip') request.pipe(createGunzip()).pipe(child.stdin)
  else request.pipe(child.stdin)
}
