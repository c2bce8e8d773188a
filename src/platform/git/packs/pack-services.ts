import { join } from 'node:path'
import { accountHolder } from '../../concurrency/holders.ts'
import { acceptedFaults } from '../core/accepted-faults.ts'
import { HIDDEN_REFS, OWN_REFS, PROPOSAL_REFS } from '../core/ref-names.ts'
import { type AnswerPush, answerHooks, hooksFor } from '../hooks/push-review.ts'
import { spawnGit } from '../processes/child-process.ts'
import type { GitProcess } from '../processes/running-git.ts'
import { countPush, removeQuarantines } from '../repositories/leftovers.ts'
import { hooksFolder, processOptions, type Repositories } from '../repositories/repositories.ts'

/** A request of the smart protocol (gitprotocol-http(5)). */
export interface PackRequest {
  /** Whether to advertise refs. Otherwise the process answers one request on stdin. */
  readonly advertise: boolean
  /**
   * Whether the process serves one client to its end, rather than one request: a fetch over SSH.
   * Default: false.
   */
  readonly isWhole?: boolean
  /** Value of the header `Git-Protocol`, which the caller has validated. Empty if absent. */
  readonly protocol: string
  /** Whether a push is so large that its pack is stored, even with few objects. */
  readonly isLarge: boolean
  /** The requested ref updates, as far as the caller knows them. */
  readonly commands?: PushCommands
}

/** The commands of a push. */
export interface PushCommands {
  /** Full names of the refs that the push creates or moves. */
  readonly names: readonly string[]
  /** Whether all refs move or none. */
  readonly isAtomic: boolean
}

/** The account that pushes, and whether scripts review the push. */
export interface Pusher {
  readonly accountId: number
  /** Whether the repository has hook scripts. */
  readonly hasScripts: boolean
  /** Full names of refs that Git refuses one by one. */
  readonly refused: ReadonlySet<string>
  /** Bytes of a pack after which Git ends the push. Undefined for no limit. */
  readonly maxBytes?: number | undefined
}

const UPLOAD_CONFIG = [
  // Partial clones, which request single objects later.
  'uploadpack.allowFilter=true',
  'uploadpack.allowAnySHA1InWant=true',
]

const RECEIVE_CONFIG = [
  // Rejects objects that break clients or attack them by file names.
  'receive.fsckObjects=true',
  ...acceptedFaults('receive.fsck'),
  'receive.advertisePushOptions=true',
  // Pushes neither list nor move these refs. Git refuses them one by one.
  ...HIDDEN_REFS.map((prefix) => `receive.hideRefs=${prefix}`),
  // Git leaves these to the hook `proc-receive`.
  ...PROPOSAL_REFS.map((prefix) => `receive.procReceiveRefs=${prefix.slice(0, -1)}`),
  // Users may have file systems that fold case and Unicode (git-config(1), core.protectNTFS).
  'core.protectHFS=true',
  'core.protectNTFS=true',
]

/**
 * Stores the pack of a push unchanged, even with few objects. Otherwise Git would compress each
 * object again, which takes 30 s for a GiB, and once more for the first clone.
 */
const KEEP_PACK = 'receive.unpackLimit=1'

/** Longer than any request may last. The caller limits the time (git-http/session.ts). */
const TIMEOUT_MS = 4 * 3_600_000

/** Starts the process that clients fetch from. */
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
 * Returns the whole output of the process that clients fetch from.
 *
 * @param input the request, empty for an advertisement.
 * @returns undefined when Git fails or warns, or when the output has more than `maxBytes`.
 * @throws GitError BUSY, NO_REPOSITORY, TIMEOUT
 */
export async function readUploadPack(
  repositories: Repositories,
  id: number,
  request: PackRequest,
  input: Buffer,
  maxBytes: number,
): Promise<Buffer | undefined> {
  const options = { ...processOptions(repositories, id), env: environmentOf(request) }
  const git = spawnGit(argumentsOf('upload-pack', UPLOAD_CONFIG, request), options)
  git.stdin.end(input)
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of git.stdout) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes <= maxBytes) continue
    git.stop()
    return undefined
  }
  const { code, stderr } = await git.exited
  return code === 0 && stderr === '' ? Buffer.concat(chunks) : undefined
}

/**
 * Starts the process that clients push to.
 *
 * @param answer answers the hooks: before refs move, when it can refuse the whole push; with hook
 *   scripts, before each ref moves, when it can refuse the ref; and after refs have moved.
 */
export function startReceivePack(
  repositories: Repositories,
  id: number,
  request: PackRequest,
  { accountId, hasScripts, refused, maxBytes }: Pusher,
  answer: AnswerPush,
): GitProcess {
  const config = [
    ...RECEIVE_CONFIG,
    ...[...refused].map((name) => `receive.hideRefs=${name}`),
    `core.hooksPath=${join(hooksFolder(repositories), hooksFor(hasScripts))}`,
    ...(request.isLarge ? [KEEP_PACK] : []),
    ...(maxBytes === undefined ? [] : [`receive.maxInputSize=${maxBytes}`]),
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
    answerHooks(
      git.hooks,
      (work) => repositories.reviews.run(accountHolder(accountId), work),
      answer,
    )
  const uncount = countPush(repositories, id)
  const ended = git.exited.finally(uncount)
  // A killed process has left the objects that it received.
  const cleanUp = () => removeQuarantines(repositories, id, startMs)
  const exited = ended.then(
    async (exit) => {
      if (exit.code === null) await cleanUp()
      return exit
    },
    async (error: unknown) => {
      await cleanUp()
      throw error
    },
  )
  exited.catch(() => {})
  return { ...git, exited, stop: () => endReceivePack(git) }
}

/**
 * Ends the input of a push, as a disconnected client does. Git then removes the received objects,
 * unlike after a signal. A signal follows after `END_GRACE_MS`.
 */
function endReceivePack(git: GitProcess): void {
  git.stdin.end()
  git.stdout.resume()
  const deadline = setTimeout(() => git.stop(), END_GRACE_MS)
  const end = () => clearTimeout(deadline)
  git.exited.then(end, end)
}

/** Time to review the received objects and to remove several GiB. */
const END_GRACE_MS = 20_000

/**
 * Returns the limits and the priority of a process. Packing a history of many million objects takes
 * a GiB, so one process may take the memory of all of them.
 */
function limitsOf({ processes }: Repositories) {
  return {
    timeoutMs: TIMEOUT_MS,
    maxMemoryBytes: processes.maxMemoryBytes,
    priority: 'transfer' as const,
  }
}

function argumentsOf(
  command: string,
  config: readonly string[],
  { advertise, isWhole = false }: PackRequest,
): string[] {
  const flags = [
    ...(isWhole ? [] : ['--stateless-rpc']),
    ...(advertise ? ['--http-backend-info-refs'] : []),
  ]
  const entries = [...config, `transfer.hideRefs=${OWN_REFS}`]
  return [...entries.flatMap((entry) => ['-c', entry]), command, ...flags, '.']
}

function environmentOf({ protocol }: PackRequest): Record<string, string> {
  return protocol === '' ? {} : { GIT_PROTOCOL: protocol }
}
