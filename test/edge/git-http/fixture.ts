import { pino } from 'pino'
import { onTestFinished } from 'vitest'
import type {
  AuthorizeGit,
  GitGrant,
  GitService,
  PackRequest,
} from '../../../src/edge/git-http/git-access.ts'
import {
  createGitHttp,
  type GitHttpOptions,
  type GitRequestEnd,
  gitHttpLimits,
} from '../../../src/edge/git-http/index.ts'
import type { AnswerPush } from '../../../src/platform/git/hooks/push-review.ts'
import { startReceivePack, startUploadPack } from '../../../src/platform/git/packs/pack-services.ts'
import { spawnGit } from '../../../src/platform/git/processes/child-process.ts'
import type { GitProcess } from '../../../src/platform/git/processes/running-git.ts'
import {
  processOptions,
  type Repositories,
} from '../../../src/platform/git/repositories/repositories.ts'
import { listen } from '../../../src/platform/http/listener/index.ts'
import { scratchFolder, testRepositories } from '../../platform/git/fixture.ts'
import { execFile } from '../../support/programs.ts'

/** The one repository there is, `ada/engine`. */
export const ENGINE = 1

/** The number of whoever is let in. */
export const ADA = 7

export interface GitServer {
  readonly url: string
  readonly repositories: Repositories
  /** Processes that were started, in order. */
  readonly started: readonly GitProcess[]
  /** The first of them, when it is. */
  readonly firstStart: Promise<GitProcess>
  /** Requests that have ended, in order. */
  readonly ended: readonly GitRequestEnd[]
  /** Messages logged as errors. */
  readonly errors: readonly string[]
}

export interface GitServerOptions {
  readonly authorize?: AuthorizeGit
  readonly limits?: Partial<GitHttpOptions['limits']>
  /** Decides about pushes; all are accepted without it. */
  readonly review?: AnswerPush
  /** What the server knows of refs; nothing without it. */
  readonly answerRefs?: GitGrant['answerRefs']
  /** Program of the shell to run in place of the pack services. */
  readonly program?: string
}

/**
 * Serves Git to everybody, or to whom `authorize` lets pass: to ada, and to nobody in particular by
 * the header `X-Anonymous`.
 */
export async function startGitServer(options: GitServerOptions = {}): Promise<GitServer> {
  const repositories = await testRepositories()
  const started: GitProcess[] = []
  const ended: GitRequestEnd[] = []
  const errors: string[] = []
  let onStart = (_: GitProcess) => {}
  const firstStart = new Promise<GitProcess>((resolve) => {
    onStart = resolve
  })
  const remember = (process: GitProcess) => {
    started.push(process)
    onStart(process)
    return process
  }
  const start = (service: GitService, request: PackRequest): GitProcess => {
    const { program, review = async () => ({ accepted: true, lines: [] }) } = options
    if (program !== undefined) {
      return spawnGit(['-c', `alias.x=!${program}`, 'x'], {
        ...processOptions(repositories, ENGINE),
        env: { GIT_PROTOCOL: request.protocol },
      })
    }
    if (service === 'git-upload-pack') return startUploadPack(repositories, ENGINE, request)
    return startReceivePack(
      repositories,
      ENGINE,
      request,
      { accountId: 1, hasScripts: false, refused: new Set() },
      review,
    )
  }
  const grant: AuthorizeGit = async ({ headers }, { owner, name, service }) => {
    if (`${owner}/${name}`.toLowerCase() !== 'ada/engine') {
      return { outcome: 'refused', status: 404, message: 'Repository not found' }
    }
    const user = headers['x-anonymous'] === undefined ? ADA : undefined
    return {
      outcome: 'granted',
      user,
      network: undefined,
      start: (request) => remember(start(service, request)),
      ...(options.answerRefs && { answerRefs: options.answerRefs }),
    }
  }
  const handle = createGitHttp({
    authorize: async (request, target) => {
      const decision = await options.authorize?.(request, target)
      return decision ?? grant(request, target)
    },
    log: pino({ level: 'error' }, { write: (line) => errors.push(JSON.parse(line).msg) }),
    observe: (end) => ended.push(end),
    limits: { ...gitHttpLimits(64 * 1024 * 1024), ...options.limits },
  })
  const listener = await listen({
    host: '127.0.0.1',
    port: 0,
    handler: (request, response) => {
      if (handle(request, response)) return
      response.writeHead(404)
      response.end()
    },
  })
  onTestFinished(() => listener.close(0))
  return { url: listener.url, repositories, started, firstStart, ended, errors }
}

/** An unmodified git with settings of its own, for one test. */
export async function gitClient() {
  const home = await scratchFolder()
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: home,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_AUTHOR_NAME: 'Bob',
    GIT_AUTHOR_EMAIL: 'bob@example.org',
    GIT_COMMITTER_NAME: 'Bob',
    GIT_COMMITTER_EMAIL: 'bob@example.org',
    LC_ALL: 'C',
  }
  return {
    home,
    /**
     * Runs it in a folder below `home`; resolves with what it printed, rejects with `stderr` when
     * it fails.
     */
    async git(folder: string, ...args: string[]): Promise<string> {
      const { stdout } = await execFile('git', ['-C', `${home}/${folder}`, ...args], { env })
      return stdout.trimEnd()
    },
  }
}
