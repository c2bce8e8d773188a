import { transaction } from '../../../platform/database/database.ts'
import { diffTrees } from '../../../platform/git/diffs/diff.ts'
import { type FollowedFile, followLines } from '../../../platform/git/diffs/line-moves.ts'
import { readCommit } from '../../../platform/git/objects/commits.ts'
import { findEntries, type TreeEntry } from '../../../platform/git/objects/trees.ts'
import { reading } from '../../repositories/content/git-reading.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import type { OpenPull } from '../heads/open-pulls.ts'
import type { ReviewComment } from '../schema.ts'
import { moveReviewComment } from './review-comments.rows.ts'
import { isAvailable } from './review-states.ts'

/**
 * Maximum number of files to examine in one call. Comments on further files keep their positions.
 */
const MAX_FILES = 100

/**
 * Maximum number of commits whose diff to the head is searched for renames. Each search may read
 * files.
 */
const MAX_RENAME_LOOKS = 5

/** Maximum number of files in such a diff. */
const MAX_RENAMED = 10_000

/** The position of a comment. */
interface Place {
  readonly path: string
  readonly line: number
}

/** A commented file of a commit. */
interface CommentedFile {
  readonly commitId: string
  readonly path: string
  readonly comments: ReviewComment[]
}

/**
 * Returns comments with their lines in the present head of an open pull request, and stores these
 * lines. A comment follows a renamed file. A comment on a changed line keeps its last known line.
 * So do comments on the base and comments on a whole file.
 *
 * @throws SERVER_BUSY, GIT_TIMEOUT
 */
export async function followComments(
  app: ReposApp,
  { pull, repository }: OpenPull,
  comments: readonly ReviewComment[],
): Promise<ReviewComment[]> {
  const isBehind = ({ side, line, commit_id }: ReviewComment) =>
    side === 'new' && line > 0 && commit_id !== pull.head_commit
  const files = pull.state === 'OPEN' ? byFile(comments.filter(isBehind)).slice(0, MAX_FILES) : []
  if (files.length === 0 || !(await isAvailable(app, pull))) return [...comments]
  const head = pull.head_commit
  const places = await findPlaces(app, repository.id, files, head)
  const moved = comments.flatMap((comment) => {
    const place = places.get(comment.id)
    return place === undefined ? [] : [{ ...comment, ...place, commit_id: head }]
  })
  if (moved.length === 0) return [...comments]
  await transaction(app.db, async (tx) => {
    for (const { id, path, line } of moved)
      await moveReviewComment(tx, id, { path, line, commit_id: head })
  })
  const byId = new Map(moved.map((comment) => [comment.id, comment]))
  return comments.map((comment) => byId.get(comment.id) ?? comment)
}

function byFile(comments: readonly ReviewComment[]): CommentedFile[] {
  const files = new Map<string, CommentedFile>()
  for (const comment of comments) {
    const { commit_id: commitId, path } = comment
    const key = `${commitId} ${path}`
    const file = files.get(key) ?? { commitId, path, comments: [] }
    file.comments.push(comment)
    files.set(key, file)
  }
  return [...files.values()]
}

/**
 * Returns the present positions of comments, by the ids of the comments. Comments whose line no
 * longer exists are left out.
 */
async function findPlaces(
  app: ReposApp,
  repositoryId: number,
  files: readonly CommentedFile[],
  head: string,
): Promise<ReadonlyMap<number, Place>> {
  const moves = await findMoves(app, repositoryId, files, head)
  const pathNow = ({ commitId, path }: CommentedFile) => moves.get(commitId)?.get(path) ?? path
  const present = await entriesAt(app, repositoryId, head, files.map(pathNow))
  const followed: { readonly file: CommentedFile; readonly now: FollowedFile }[] = []
  for (const file of files) {
    const before = (await entriesAt(app, repositoryId, file.commitId, [file.path])).get(file.path)
    const after = present.get(pathNow(file))
    if (before?.kind !== 'file' || after?.kind !== 'file') continue
    const pair = { oldMode: before.mode, oldId: before.id, newMode: after.mode, newId: after.id }
    followed.push({ file, now: { pair, lines: file.comments.map(({ line }) => line) } })
  }
  const lines = await reading(
    followLines(
      app.git,
      repositoryId,
      followed.map(({ now }) => now),
    ),
  )
  const places = new Map<number, Place>()
  for (const [i, { file }] of followed.entries()) {
    for (const { id, line } of file.comments) {
      const found = lines[i]?.get(line)
      if (found !== undefined) places.set(id, { path: pathNow(file), line: found })
    }
  }
  return places
}

/**
 * Finds renames of files that no longer exist in the head under their old paths. Returns, for each
 * commit, the new paths by the old paths.
 */
async function findMoves(
  app: ReposApp,
  repositoryId: number,
  files: readonly CommentedFile[],
  head: string,
): Promise<ReadonlyMap<string, ReadonlyMap<string, string>>> {
  const present = await entriesAt(
    app,
    repositoryId,
    head,
    files.map(({ path }) => path),
  )
  const commits = new Set(
    files.flatMap(({ commitId, path }) => (present.has(path) ? [] : commitId)),
  )
  const moves = new Map<string, ReadonlyMap<string, string>>()
  for (const commitId of [...commits].slice(0, MAX_RENAME_LOOKS)) {
    // Git may have collected the commit after a force push.
    if (!(await readCommit(app.git, repositoryId, commitId))) continue
    const window = { offset: 0, limit: MAX_RENAMED }
    const diff = await reading(
      diffTrees(app.git, repositoryId, commitId, head, { lines: false, window }),
    )
    const renamed = diff.files.flatMap(({ kind, path, oldPath }): [string, string][] =>
      kind === 'renamed' && oldPath !== undefined ? [[oldPath, path]] : [],
    )
    moves.set(commitId, new Map(renamed))
  }
  return moves
}

async function entriesAt(
  app: ReposApp,
  repositoryId: number,
  commitId: string,
  paths: readonly string[],
): Promise<ReadonlyMap<string, TreeEntry>> {
  const commit = await readCommit(app.git, repositoryId, commitId)
  return commit ? findEntries(app.git, repositoryId, commit.treeId, paths) : new Map()
}
