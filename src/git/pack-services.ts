import { join } from 'node:path'
import { type GitProcess, spawnGit } from './child-process.ts'
import { type AnswerPush, answerHooks, hooksFor } from './push-review.ts'
import { OWN_REFS } from './refs.ts'
import { hooksFolder, type Repositories, repositoryPath } from './repositories.ts'

/** One request to a half of the smart protocol (gitprotocol-http(5)). */
export interface PackRequest {
  /** Says which refs there are, and reads nothing; otherwise answers one request on stdin. */
  readonly advertise: boolean
  /** Value of the client's `Git-Protocol` header, empty if it sent none. Whoever passes it on has looked at its form. */
  readonly protocol: string
  /** Of a push: whether it is too large for its few objects to be written one by one, as Git would. */
  readonly isLarge: boolean
}

const UPLOAD_CONFIG = [
  // Partial clones, and the single objects that they ask for later.
  'uploadpack.allowFilter=true',
  'uploadpack.allowAnySHA1InWant=true',
]

const RECEIVE_CONFIG = [
  // Objects that break clients, or attack them by their names, stay out.
  'receive.fsckObjects=true',
  'receive.advertisePushOptions=true',
  // Those of pull requests are many, and the server's: it lists them for whoever fetches.
  'receive.hideRefs=refs/pull/',
  // Names of files end up on the disks of people whose file systems fold case and Unicode (git-config(1), core.protectNTFS).
  'core.protectHFS=true',
  'core.protectNTFS=true',
]

/**
 * Keeps the objects in the pack that they came in, however few they are. Written one by one each would be compressed anew, which
 * takes half a minute for a gibibyte, and again for the first who clones.
 */
const KEEP_PACK = 'receive.unpackLimit=1'

/** Starts the half that clients fetch from. */
export function startUploadPack(repositories: Repositories, id: number, request: PackRequest): GitProcess {
  const repository = repositoryPath(repositories, id)
  return spawnGit(argumentsOf('upload-pack', UPLOAD_CONFIG, request), { repository, env: environmentOf(request) })
}

/**
 * Starts the half that clients push to.
 *
 * @param hasScripts whether the answer depends on more than the push as a whole: then it is asked for each ref, too.
 * @param answer is asked when all objects have arrived and before a ref moves, and then refuses all; for each ref before that moves,
 *   which it then refuses by itself; and about those that have moved. Not asked when the push does not get so far.
 */
export function startReceivePack(
  repositories: Repositories,
  id: number,
  request: PackRequest,
  hasScripts: boolean,
  answer: AnswerPush,
): GitProcess {
  const repository = repositoryPath(repositories, id)
  const config = [
    ...RECEIVE_CONFIG,
    `core.hooksPath=${join(hooksFolder(repositories), hooksFor(hasScripts))}`,
    ...(request.isLarge ? [KEEP_PACK] : []),
  ]
  const options = { repository, env: environmentOf(request), hooks: true }
  const git = spawnGit(argumentsOf('receive-pack', config, request), options)
  if (git.hooks) answerHooks(git.hooks, answer)
  return git
}

function argumentsOf(command: string, config: readonly string[], { advertise }: PackRequest): string[] {
  const flags = advertise ? ['--stateless-rpc', '--http-backend-info-refs'] : ['--stateless-rpc']
  const entries = [...config, `transfer.hideRefs=${OWN_REFS}`]
  return [...entries.flatMap((entry) => ['-c', entry]), command, ...flags, '.']
}

function environmentOf({ protocol }: PackRequest): Record<string, string> {
  return protocol === '' ? {} : { GIT_PROTOCOL: protocol }
}
