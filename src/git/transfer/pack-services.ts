import { join } from 'node:path'
import { acceptedFaults } from '../core/accepted-faults.ts'
import { OWN_REFS } from '../core/ref-names.ts'
import { type AnswerPush, answerHooks, hooksFor } from '../hooks/push-review.ts'
import { spawnGit } from '../processes/child-process.ts'
import type { GitProcess } from '../processes/running-git.ts'
import { countPush, removeQuarantines } from '../repositories/leftovers.ts'
import { hooksFolder, processOptions, type Repositories } from '../repositories/repositories.ts'

/** One request to a half of the smart protocol (gitprotocol-http(5)). */
export interface PackRequest {
  /** Says which refs there are, and reads nothing; otherwise answers one request on stdin. */
  readonly advertise: boolean
  /**
   * Value of the client's `Git-Protocol` header, empty if it sent none. Whoever passes it on has
   * looked at its form.
   */
  readonly protocol: string
  /**
   * Of a push: whether it is too large for its few objects to be written one by one, as Git would.
   */
  readonly isLarge: boolean
}

/** Whose push it is. */
export interface Pusher {
  /** Number of the account. */
  readonly accountId: number
  /** Whether the repository has scripts. */
  readonly hasScripts: boolean
}

const UPLOAD_CONFIG = [
  // Partial clones, and the single objects that they ask for later.
  'uploadpack.allowFilter=true',
  'uploadpack.allowAnySHA1InWant=true',
]

const RECEIVE_CONFIG = [
  // Objects that break clients, or attack them by their names, stay out.
  'receive.fsckObjects=true',
  ...acceptedFaults('receive.fsck'),
  'receive.advertisePushOptions=true',
  // Those of pull requests are many, and the server's: it lists them for whoever fetches.
  'receive.hideRefs=refs/pull/',
  // Names of files end up on the disks of people whose file systems fold case and Unicode
  // (git-config(1), core.protectNTFS).
  'core.protectHFS=true',
  'core.protectNTFS=true',
]

/**
 * Keeps the objects in the pack that they came in, however few they are. Written one by one each
 * would be compressed anew, which takes half a minute for a gibibyte, and again for the first who
 * clones.
 */
const KEEP_PACK = 'receive.unpackLimit=1'

/**
 * Longer than any client may take: who passes the process on sees to the time that it takes
 * (git-http/session.ts).
 */
const TIMEOUT_MS = 4 * 3_600_000

/** Starts the half that clients fetch from. */
export function startUploadPack(
  repositories: Repositories,
  id: number,
  request: PackRequest,
): GitProcess {
  const options = {
    ...processOptions(repositories, id),
    env: environmentOf(request),
    ...limitsOf(repositories),
  }
  return spawnGit(argumentsOf('upload-pack', UPLOAD_CONFIG, request), options)
}

/**
 * Starts the half that clients push to.
 *
 * @param pusher who pushes, and whether the answer depends on more than the push as a whole: then
 *   it is asked for each ref, too.
 * @param answer is asked when all objects have arrived and before a ref moves, and then refuses
 *   all; for each ref before that moves, which it then refuses by itself; and about those that have
 *   moved. Not asked when the push does not get so far.
 */
export function startReceivePack(
  repositories: Repositories,
  id: number,
  request: PackRequest,
  { accountId, hasScripts }: Pusher,
  answer: AnswerPush,
): GitProcess {
  const config = [
    ...RECEIVE_CONFIG,
    `core.hooksPath=${join(hooksFolder(repositories), hooksFor(hasScripts))}`,
    ...(request.isLarge ? [KEEP_PACK] : []),
  ]
  const options = {
    ...processOptions(repositories, id),
    env: environmentOf(request),
    hooks: true,
    ...limitsOf(repositories),
  }
  const startMs = Date.now()
  const git = spawnGit(argumentsOf('receive-pack', config, request), options)
  if (git.hooks)
    answerHooks(git.hooks, (work) => repositories.reviews(String(accountId), work), answer)
  const uncount = countPush(repositories, id)
  const ended = git.exited.finally(uncount)
  // One that was killed has left what it received.
  const clearUp = () => removeQuarantines(repositories, id, startMs)
  const exited = ended.then(
    async (exit) => {
      if (exit.code === null) await clearUp()
      return exit
    },
    async (error: unknown) => {
      await clearUp()
      throw error
    },
  )
  exited.catch(() => {})
  return { ...git, exited, stop: () => endReceivePack(git) }
}

/**
 * Ends the input of a push, as a client does that is gone: then git removes what it has received,
 * which it does not when a signal ends it. A signal comes when it takes long.
 */
function endReceivePack(git: GitProcess): void {
  git.stdin.end()
  git.stdout.resume()
  const impatience = setTimeout(() => git.stop(), END_PATIENCE_MS)
  const end = () => clearTimeout(impatience)
  git.exited.then(end, end)
}

/** For the review of what has come, and for removing gibibytes. */
const END_PATIENCE_MS = 20_000

/**
 * A history of many million objects takes a gibibyte to pack: one git may take all that there is
 * for all of them.
 */
function limitsOf({ processes }: Repositories) {
  return { timeoutMs: TIMEOUT_MS, maxMemoryBytes: processes.maxMemoryBytes }
}

function argumentsOf(
  command: string,
  config: readonly string[],
  { advertise }: PackRequest,
): string[] {
  const flags = advertise ? ['--stateless-rpc', '--http-backend-info-refs'] : ['--stateless-rpc']
  const entries = [...config, `transfer.hideRefs=${OWN_REFS}`]
  return [...entries.flatMap((entry) => ['-c', entry]), command, ...flags, '.']
}

function environmentOf({ protocol }: PackRequest): Record<string, string> {
  return protocol === '' ? {} : { GIT_PROTOCOL: protocol }
}
