import { readCommit } from '../../git/commits.ts'
import { type FollowedFile, followLines } from '../../git/line-moves.ts'
import { findEntries, type TreeEntry } from '../../git/trees.ts'
import { transaction } from '../../storage/database.ts'
import { moveReviewComment, type ReviewComment } from '../../storage/review-comments.ts'
import type { App } from '../app.ts'
import { reading } from '../repos/git-reading.ts'
import type { OpenPull } from './pull-requests.ts'
import { isAvailable } from './review-states.ts'

/** Files looked into at a time; comments on more stay where they were. */
const MAX_FILES = 100

/** A file of a commit that comments are on. */
interface CommentedFile {
  readonly commitId: string
  readonly path: string
  readonly comments: ReviewComment[]
}

/**
 * Comments with the lines that they are on in the head of the pull request, as long as that is open, and notes where those are. A comment
 * on a line that was changed stays where that was found last, as does one on the base, or on a file as a whole.
 *
 * @throws SERVER_BUSY, GIT_TIMEOUT
 */
export async function followComments(
  app: App,
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
    const line = places.get(comment.id)
    return line === undefined ? [] : [{ ...comment, line, commit_id: head }]
  })
  if (moved.length === 0) return [...comments]
  await transaction(app.db, async (tx) => {
    for (const { id, line } of moved) await moveReviewComment(tx, id, { line, commit_id: head })
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

/** The lines that comments are on now, by the ids of the comments; those that are on none any more are left out. */
async function findPlaces(
  app: App,
  repositoryId: number,
  files: readonly CommentedFile[],
  head: string,
): Promise<ReadonlyMap<number, number>> {
  const paths = files.map(({ path }) => path)
  const present = await entriesAt(app, repositoryId, head, paths)
  const followed: { readonly file: CommentedFile; readonly now: FollowedFile }[] = []
  for (const file of files) {
    const before = (await entriesAt(app, repositoryId, file.commitId, [file.path])).get(file.path)
    const after = present.get(file.path)
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
  const places = new Map<number, number>()
  for (const [i, { file }] of followed.entries()) {
    for (const { id, line } of file.comments) {
      const found = lines[i]?.get(line)
      if (found !== undefined) places.set(id, found)
    }
  }
  return places
}

async function entriesAt(
  app: App,
  repositoryId: number,
  commitId: string,
  paths: readonly string[],
): Promise<ReadonlyMap<string, TreeEntry>> {
  const commit = await readCommit(app.git, repositoryId, commitId)
  return commit ? findEntries(app.git, repositoryId, commit.treeId, paths) : new Map()
}
