import { readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { acceptedFaults } from '../core/accepted-faults.ts'
import type { RefUpdate } from '../core/ref-names.ts'
import { findLargeText } from '../objects/large-texts.ts'
import { runGit, spawnGit } from '../processes/child-process.ts'
import { isRefName, listRefs, listRefsAt } from '../refs/refs.ts'
import {
  createDraft,
  discardDraft,
  type Repositories,
  repositoryPath,
} from '../repositories/repositories.ts'
import { packRefs, SHARED_REFS, writeRefs } from './forks.ts'

/** Where git fetches from. */
export interface FetchSource {
  /** http URL without credentials: this one is seen by everybody who may list processes. */
  readonly url: string
  /** A header that goes with every request, `Name: value`. Secret. */
  readonly header: string
}

/** Why a fetch failed, as far as git says. */
export interface FetchFailure {
  /**
   * Git's name for what is wrong with an object (git-fsck(1), "FSCK MESSAGES"), or `tooLarge` for a
   * commit or tag that is; undefined when it is something else.
   */
  readonly badObject: string | undefined
  /** For the log: it may name paths of this machine. */
  readonly stderr: string
}

const FETCH_CONFIG = [
  // The source is all that git talks to, by this protocol, whatever it is told on the way.
  'protocol.allow=never',
  'protocol.http.allow=always',
  'http.followRedirects=false',
  'http.proxy=',
  'credential.helper=',
  // As for a push. A pack is kept as it came, so that nothing is stored before all of it was looked
  // at.
  'fetch.fsckObjects=true',
  'fetch.unpackLimit=1',
  'core.protectHFS=true',
  'core.protectNTFS=true',
  ...acceptedFaults('fetch.fsck'),
  // Refs of drafts are written once more, all of them at once, and flushed then. The objects are
  // flushed as they come.
  'core.fsync=objects',
]

/** For a repack of some gibibytes, and for refs by the hundred thousand. */
const REPACK_TIMEOUT_MS = 60 * 60_000
const UPDATE_TIMEOUT_MS = 10 * 60_000

/** Longer than who asks for a fetch waits, and ends it by a signal. */
const FETCH_TIMEOUT_MS = 2 * 60 * 60_000

/** Branches and tags as they are at the source, by force. */
const REFSPECS = SHARED_REFS.map((prefix) => `+${prefix}*:${prefix}*`)

/**
 * The parts of a pack in the order in which they may appear: the index is what makes Git see the
 * rest.
 */
const PACK_PARTS = ['.pack', '.rev', '.idx']

/** More packs slow down every reader, and every fetch that finds something adds one. */
const MAX_PACKS = 32

/** Kept of what is printed, where one line is asked for: the other side may say more. */
const MAX_OUTPUT_CHARACTERS = 64 * 1024

const BAD_OBJECT = /object [0-9a-f]{40}: ([A-Za-z]+):/

/**
 * Fetches all branches and tags of a source into a draft.
 *
 * @param prune whether those go that the source does not have.
 * @param signal ends git and everything it started.
 * @returns undefined when all went well.
 */
export async function fetchInto(
  repositories: Repositories,
  draft: string,
  { url, header }: FetchSource,
  { prune, signal }: { readonly prune: boolean; readonly signal: AbortSignal },
): Promise<FetchFailure | undefined> {
  const flags = [
    '--quiet',
    '--no-tags',
    '--no-write-fetch-head',
    '--no-recurse-submodules',
    '--no-auto-maintenance',
  ]
  const args = ['fetch', ...flags, prune ? '--prune' : '--no-prune', url, ...REFSPECS]
  const { code, stderr } = await runUntil(repositories, signal, args, draft, header)
  if (code !== 0) return { badObject: BAD_OBJECT.exec(stderr)?.[1], stderr }
  const isNew = (await readdir(join(draft, 'objects/pack'))).length > 0
  const large = isNew
    ? await findLargeText(repositories.processes, draft, join(draft, 'objects'))
    : undefined
  return large === undefined
    ? undefined
    : { badObject: 'tooLarge', stderr: `${large} is too large` }
}

/** The branch that HEAD of a source names; undefined when it names none. */
export async function readUpstreamDefault(
  repositories: Repositories,
  draft: string,
  { url, header }: FetchSource,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { stdout } = await runUntil(
    repositories,
    signal,
    ['ls-remote', '--quiet', '--symref', url, 'HEAD'],
    draft,
    header,
  )
  const branch = /^ref: refs\/heads\/(.+)\tHEAD$/m.exec(stdout)?.[1]
  return branch !== undefined && isRefName(branch) ? branch : undefined
}

/** Makes a draft of a source that was fetched into it ready to be published. */
export async function finishCopy(
  repositories: Repositories,
  draft: string,
  defaultBranch: string | undefined,
): Promise<void> {
  const unfit: string[] = []
  for await (const { name } of listRefsAt(repositories.processes, draft, SHARED_REFS))
    if (!isFit(name)) unfit.push(`delete ${name}\0\0`)
  if (unfit.length > 0)
    await run(repositories, ['update-ref', '--stdin', '-z'], draft, unfit.join(''))
  if (defaultBranch !== undefined)
    await run(repositories, ['symbolic-ref', 'HEAD', `refs/heads/${defaultBranch}`], draft)
  await packRefs(repositories, draft)
}

/**
 * Makes a draft that has the refs of a repository, and its objects without a copy of them: what is
 * fetched into it is the difference, in quarantine.
 *
 * @returns its path.
 */
export async function draftSync(repositories: Repositories, id: number): Promise<string> {
  const draft = await createDraft(repositories, 'main')
  try {
    const objects = join(repositoryPath(repositories, id), 'objects')
    await writeFile(join(draft, 'objects/info/alternates'), `${objects}\n`)
    await writeRefs(draft, listRefs(repositories, id, SHARED_REFS))
    return draft
  } catch (error) {
    await discardDraft(draft)
    throw error
  }
}

/** What has to change in a repository so that it has the refs of a draft. */
export async function compareRefs(
  repositories: Repositories,
  id: number,
  draft: string,
): Promise<RefUpdate[]> {
  const before = new Map<string, string>()
  for await (const ref of listRefs(repositories, id, SHARED_REFS)) before.set(ref.name, ref.id)
  const updates: RefUpdate[] = []
  for await (const ref of listRefsAt(repositories.processes, draft, SHARED_REFS)) {
    const from = before.get(ref.name)
    before.delete(ref.name)
    if (from !== ref.id && isFit(ref.name)) updates.push({ name: ref.name, from, to: ref.id })
  }
  return [...[...before].map(([name, from]) => ({ name, from, to: undefined })), ...updates]
}

/**
 * Moves the objects that were fetched into a draft to the repository that it borrows the others
 * from.
 */
export async function releaseObjects(
  repositories: Repositories,
  id: number,
  draft: string,
): Promise<void> {
  const from = join(draft, 'objects/pack')
  const to = join(repositoryPath(repositories, id), 'objects/pack')
  const files = (await readdir(from)).filter((file) => file.startsWith('pack-'))
  for (const part of PACK_PARTS) {
    for (const file of files)
      if (file.endsWith(part)) await rename(join(from, file), join(to, file))
  }
}

/**
 * Joins the smaller packs of a repository when it has many, in such a way that few are written anew
 * each time (git-repack(1), `--geometric`). For repositories that nobody else writes to at the
 * moment; readers notice nothing.
 */
export async function tidyPacks(repositories: Repositories, id: number): Promise<void> {
  const path = repositoryPath(repositories, id)
  const packs = (await readdir(join(path, 'objects/pack'))).filter((file) => file.endsWith('.pack'))
  if (packs.length <= MAX_PACKS) return
  await run(repositories, ['repack', '-d', '-q', '--geometric=2'], path, '', REPACK_TIMEOUT_MS)
  // What is open still knows the packs of before.
  repositories.handles.drop(path)
}

/** What other clients could neither name nor fetch stays where it is. */
function isFit(ref: string): boolean {
  return isRefName(ref.replace(/^refs\/(heads|tags)\//, ''))
}

async function run(
  { processes }: Repositories,
  args: readonly string[],
  repository: string,
  input = '',
  timeoutMs = UPDATE_TIMEOUT_MS,
): Promise<void> {
  const options = { processes, repository, timeoutMs, maxMemoryBytes: processes.maxMemoryBytes }
  const { code, stderr } = await runGit(args, options, input)
  if (code !== 0) throw new Error(`git ${args[0]} failed: ${stderr}`)
}

/**
 * Runs git against a source until it ends or is ended. The header goes through the environment,
 * which only its own user may read.
 */
async function runUntil(
  { processes }: Repositories,
  signal: AbortSignal,
  args: readonly string[],
  repository: string,
  header: string,
) {
  const env = {
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: 'http.extraHeader',
    GIT_CONFIG_VALUE_0: header,
  }
  const limits = { timeoutMs: FETCH_TIMEOUT_MS, maxMemoryBytes: processes.maxMemoryBytes }
  const git = spawnGit([...FETCH_CONFIG.flatMap((entry) => ['-c', entry]), ...args], {
    processes,
    repository,
    env,
    ...limits,
  })
  const stop = () => git.stop()
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  git.stdin.end()
  let stdout = ''
  git.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout = (stdout + text).slice(0, MAX_OUTPUT_CHARACTERS)
  })
  try {
    return { ...(await git.exited), stdout }
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
