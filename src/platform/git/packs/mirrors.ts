import { readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { acceptedFaults } from '../core/accepted-faults.ts'
import { IMPORT_REFS, type RefUpdate } from '../core/ref-names.ts'
import { findLargeObject } from '../objects/large-texts.ts'
import { runGit, spawnGit } from '../processes/child-process.ts'
import { isRefName, listRefs, listRefsAt } from '../refs/refs.ts'
import {
  createDraft,
  discardDraft,
  type Repositories,
  repositoryPath,
} from '../repositories/repositories.ts'
import { measureObjects } from '../repositories/repository-size.ts'
import { packRefs, SHARED_REFS, writeRefs } from './forks.ts'

/** The source of a fetch. */
export interface FetchSource {
  /** http URL without credentials, since users of the machine can see arguments of processes. */
  readonly url: string
  /** Secret header of every request, `Name: value`. */
  readonly header: string
}

/** The reason of a failed fetch. */
export interface FetchFailure {
  /**
   * Name of a fault of an object (git-fsck(1), "FSCK MESSAGES"), or `tooLarge` for a large commit
   * or tag. Undefined for other reasons.
   */
  readonly badObject: string | undefined
  /** For the log only, since the text may contain paths of this machine. */
  readonly stderr: string
}

const FETCH_CONFIG = [
  // Git connects only to the source and only by this protocol.
  'protocol.allow=never',
  'protocol.http.allow=always',
  'http.followRedirects=false',
  'http.proxy=',
  'credential.helper=',
  // The same checks as for a push. The pack is stored unchanged, after all objects are checked.
  'fetch.fsckObjects=true',
  'fetch.unpackLimit=1',
  'core.protectHFS=true',
  'core.protectNTFS=true',
  ...acceptedFaults('fetch.fsck'),
  // Objects are flushed. Refs of drafts are written again later, all at once, and flushed then.
  'core.fsync=objects',
]

/** Enough to update hundreds of thousands of refs. */
const UPDATE_TIMEOUT_MS = 10 * 60_000

/** Longer than callers wait, which end a fetch by a signal. */
const FETCH_TIMEOUT_MS = 2 * 60 * 60_000

/** Sets branches and tags to those of the source, without fast-forward checks. */
const REFSPECS = SHARED_REFS.map((prefix) => `+${prefix}*:${prefix}*`)

/** What a fetch does beside branches and tags. */
export interface FetchOptions {
  /** Whether to delete refs that the source does not have. */
  readonly prune: boolean
  /** Ends the Git processes. */
  readonly signal: AbortSignal
  /** More refs of the source, with one `*`, which become refs below `IMPORT_REFS`. */
  readonly alsoRefs?: string | undefined
}

/** Files of a pack in the order in which they must appear. Git finds a pack by its index. */
const PACK_PARTS = ['.pack', '.rev', '.idx']

/** Limit of the output. The server reads one line, but the source may send more. */
const MAX_OUTPUT_CHARACTERS = 64 * 1024

const BAD_OBJECT = /object [0-9a-f]{40}: ([A-Za-z]+):/

/**
 * Fetches all branches and tags of a source into a draft.
 *
 * @returns undefined on success.
 */
export async function fetchInto(
  repositories: Repositories,
  draft: string,
  { url, header }: FetchSource,
  { prune, signal, alsoRefs }: FetchOptions,
): Promise<FetchFailure | undefined> {
  const flags = [
    '--quiet',
    '--no-tags',
    '--no-write-fetch-head',
    '--no-recurse-submodules',
    '--no-auto-maintenance',
  ]
  const refspecs = alsoRefs ? [...REFSPECS, `+${alsoRefs}:${IMPORT_REFS}*`] : REFSPECS
  const args = ['fetch', ...flags, prune ? '--prune' : '--no-prune', url, ...refspecs]
  const { code, stderr } = await runUntil(repositories, signal, args, draft, header)
  if (code !== 0) return { badObject: BAD_OBJECT.exec(stderr)?.[1], stderr }
  const isNew = (await readdir(join(draft, 'objects/pack'))).length > 0
  const large = isNew
    ? await findLargeObject(repositories.processes, draft, join(draft, 'objects'))
    : undefined
  return large === undefined
    ? undefined
    : { badObject: 'tooLarge', stderr: `${large.id} is too large` }
}

/**
 * Sets the branches and tags of a target to those of a repository, without fast-forward checks, and
 * deletes all others.
 *
 * @param signal ends the Git process.
 * @returns undefined on success; otherwise the output of Git, for the log only, and whether the
 *   target has refused a ref.
 */
export async function pushAll(
  repositories: Repositories,
  id: number,
  { url, header }: FetchSource,
  signal: AbortSignal,
): Promise<{ readonly stderr: string; readonly isRefused: boolean } | undefined> {
  const flags = ['--quiet', '--prune', '--no-verify', '--no-signed', '--recurse-submodules=no']
  const args = ['push', ...flags, url, ...REFSPECS]
  const folder = repositoryPath(repositories, id)
  const { code, stderr } = await runUntil(repositories, signal, args, folder, header)
  return code === 0 ? undefined : { stderr, isRefused: stderr.includes('! [') }
}

/** Returns the ids to which branches and tags of a source point; not all of them if there are many. */
export async function readUpstreamTips(
  repositories: Repositories,
  folder: string,
  { url, header }: FetchSource,
  signal: AbortSignal,
): Promise<string[]> {
  const args = ['ls-remote', '--quiet', '--heads', '--tags', url]
  const { stdout } = await runUntil(repositories, signal, args, folder, header)
  return stdout.split('\n').flatMap((line) => /^([0-9a-f]{40})\t/.exec(line)?.[1] ?? [])
}

/** Returns the default branch of a source, or undefined when it has none. */
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

/** Prepares a fetched draft for publication. */
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
 * Creates a draft with the refs of a repository that borrows its objects. A fetch into the draft
 * then contains only new objects, in quarantine.
 *
 * @returns the path of the draft.
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

/** Returns the updates after which a repository has the refs of a draft. */
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

/** Returns the updates after which a repository has the refs of a draft below `IMPORT_REFS`. */
export async function compareImportRefs(
  repositories: Repositories,
  id: number,
  draft: string,
): Promise<RefUpdate[]> {
  const before = new Map<string, string>()
  for await (const ref of listRefs(repositories, id, [IMPORT_REFS])) before.set(ref.name, ref.id)
  const updates: RefUpdate[] = []
  for await (const { name, id: to } of listRefsAt(repositories.processes, draft, [IMPORT_REFS])) {
    const from = before.get(name)
    if (from !== to) updates.push({ name, from, to })
  }
  return updates
}

/** Returns the bytes of the objects of a draft, without those that it borrows. */
export function measureDraft(draft: string): Promise<number> {
  return measureObjects(join(draft, 'objects'))
}

/** Moves the fetched objects of a draft to the repository whose objects the draft borrows. */
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

/** Returns whether clients can name and fetch a ref. Other refs of a source are not copied. */
function isFit(ref: string): boolean {
  return isRefName(ref.replace(/^refs\/(heads|tags)\//, ''))
}

async function run(
  { processes }: Repositories,
  args: readonly string[],
  repository: string,
  input = '',
): Promise<void> {
  const { maxMemoryBytes } = processes
  const options = {
    processes,
    repository,
    timeoutMs: UPDATE_TIMEOUT_MS,
    maxMemoryBytes,
    priority: 'transfer' as const,
  }
  const { code, stderr } = await runGit(args, options, input)
  if (code !== 0) throw new Error(`git ${args[0]} failed: ${stderr}`)
}

/**
 * Runs a Git process that connects to a source. The header is in the environment, which other users
 * of the machine cannot read.
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
    priority: 'transfer',
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
