import { readCommit } from '../objects/commits.ts'
import { parseCommit, parseTag } from '../objects/raw-objects.ts'
import { ByteReader } from '../processes/byte-reader.ts'
import { printedByGit, runGit } from '../processes/child-process.ts'
import { processOptions, type Repositories } from '../repositories/repositories.ts'

type ProcessOptions = ReturnType<typeof processOptions>

/** The commit or tag object that a ref points to. */
export interface RefTarget {
  /** Whether the ref points to a tag object. */
  readonly isAnnotated: boolean
  /** Id of the commit. Undefined when a tag points to another kind of object. */
  readonly commitId: string | undefined
  /** Unix seconds, of the tagger or else of the committer. 0 when neither is known. */
  readonly time: number
  /**
   * Message of the tag object or the commit, without a signature and surrounding blank lines, at
   * most `MAX_MESSAGE_BYTES`.
   */
  readonly message: string
}

/** Longest message. A list shows fifty messages. */
const MAX_MESSAGE_BYTES = 64 * 1024

/**
 * Objects that are read without a process, which is faster for a few of them. Most pushes move one
 * branch.
 */
const MAX_LOOKED_UP = 4

/** Longest object that is read: headers with up to two signatures, and the message. */
const MAX_CONTENT_BYTES = MAX_MESSAGE_BYTES + 32 * 1024

/**
 * Returns the commits and tag objects that refs point to, by id, without ids of other or missing
 * objects.
 *
 * Moved refs must be recorded, so this function does not wait behind readers.
 *
 * @param ids full ids. Their messages must fit into memory.
 */
export async function readRefTargets(
  repositories: Repositories,
  id: number,
  ids: readonly string[],
): Promise<ReadonlyMap<string, RefTarget>> {
  const options = processOptions(repositories, id)
  const targets = new Map<string, RefTarget>()
  if (ids.length <= MAX_LOOKED_UP) await lookUp(repositories, id, ids, targets)
  const others = [...new Set(ids)].filter((objectId) => !targets.has(objectId))
  for await (const { objectId, type, content } of readContents(options, others)) {
    if (type === 'commit')
      targets.set(objectId, {
        isAnnotated: false,
        commitId: objectId,
        ...commitOf(objectId, content),
      })
    if (type === 'tag')
      targets.set(objectId, { isAnnotated: true, commitId: undefined, ...tagOf(objectId, content) })
  }
  for (const [tagId, commitId] of await peelTags(options, targets)) {
    const target = targets.get(tagId)
    if (target) targets.set(tagId, { ...target, commitId })
  }
  return targets
}

/** Adds the commits among objects, except those with unusual encodings. */
async function lookUp(
  repositories: Repositories,
  id: number,
  ids: readonly string[],
  targets: Map<string, RefTarget>,
): Promise<void> {
  const commits = await Promise.all(
    ids.map((commitId) => readCommit(repositories, id, commitId).catch(() => undefined)),
  )
  for (const commit of commits) {
    // The message is not in UTF-8.
    if (!commit || commit.message.includes('\ufffd')) continue
    const { committer, message } = commit
    const described = { time: committer.time, message: cut(message).trim() }
    targets.set(commit.id, { isAnnotated: false, commitId: commit.id, ...described })
  }
}

function tagOf(id: string, content: Buffer): Pick<RefTarget, 'time' | 'message'> {
  const { message, tagger } = parseTag(id, content)
  return { message: cut(message).trim(), time: tagger?.time ?? 0 }
}

function commitOf(id: string, content: Buffer): Pick<RefTarget, 'time' | 'message'> {
  const { message, committer } = parseCommit(id, content)
  return { message: cut(message).trim(), time: committer.time }
}

/** Truncates a text to `MAX_MESSAGE_BYTES` of whole characters. */
function cut(text: string): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= MAX_MESSAGE_BYTES) return text
  return bytes
    .subarray(0, MAX_MESSAGE_BYTES)
    .toString()
    .replace(/\ufffd+$/, '')
}

/** Returns pairs of tags and the commits that they point to, directly or through other tags. */
async function peelTags(
  options: ProcessOptions,
  targets: ReadonlyMap<string, RefTarget>,
): Promise<(readonly [tagId: string, commitId: string])[]> {
  const tags = [...targets].flatMap(([id, { isAnnotated }]) => (isAnnotated ? id : []))
  if (tags.length === 0) return []
  const input = tags.map((id) => `${id}^{commit}\n`).join('')
  const { code, stdout, stderr } = await runGit(
    ['cat-file', '--batch-check', '--buffer'],
    options,
    input,
  )
  if (code !== 0) throw new Error(`git cat-file failed: ${stderr}`)
  return stdout.split('\n').flatMap((line, i) => {
    const [commitId = '', type] = line.split(' ')
    return type === 'commit' ? [[tags[i] ?? '', commitId] as const] : []
  })
}

/** Yields the beginnings of commits and tag objects. Other objects have no content. */
async function* readContents(options: ProcessOptions, ids: readonly string[]) {
  if (ids.length === 0) return
  const input = ids.map((id) => `${id}\n`).join('')
  const chunks = printedByGit(['cat-file', '--batch', '--buffer'], options, input)
  try {
    const output = new ByteReader(chunks)
    for (let line = await output.line(); line !== undefined; line = await output.line()) {
      const [objectId = '', type = '', size] = line.split(' ')
      // `id missing`
      if (size === undefined) continue
      const isDescribed = type === 'commit' || type === 'tag'
      yield {
        objectId,
        type,
        content: await output.bytes(Number(size), isDescribed ? MAX_CONTENT_BYTES : 0),
      }
      // A line feed follows the content.
      await output.bytes(1, 0)
    }
  } finally {
    await chunks.return()
  }
}
