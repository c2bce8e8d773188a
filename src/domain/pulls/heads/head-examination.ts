import { listRefs, updateRefs } from '../../../git/refs/refs.ts'
import { transaction } from '../../../storage/database/database.ts'
import { type HeadRef, listHeadRefs, putHeadRef } from '../../../storage/pulls/pull-heads.ts'
import { findPullRequestById } from '../../../storage/pulls/pull-requests.ts'
import type { ReposApp } from '../../repos/ports.ts'
import { headRefOf, prepareHead } from './pull-heads.ts'

/** Something that is wrong with the ref of a pull request. */
export interface HeadProblem {
  /** For operators. */
  readonly text: string
  /** Makes the ref what the row says. Nobody else may work on the data meanwhile. */
  repair(): Promise<void>
}

/** Where those refs are. */
const PULLS = 'refs/pull/'

/** Problems that an operator is told of. */
const MAX_PROBLEMS = 100

/**
 * Compares the refs of the pull requests into a repository with their rows. One of which the row
 * itself says that it is behind is none: it will be brought up to date.
 */
export async function examineHeads(app: ReposApp, repositoryId: number): Promise<HeadProblem[]> {
  const held = new Map<string, string>()
  for await (const { name, id } of listRefs(app.git, repositoryId, [PULLS])) held.set(name, id)
  const problems: HeadProblem[] = []
  for (const head of await listHeadRefs(app.db, repositoryId)) {
    const name = headRefOf(head)
    const objectId = held.get(name)
    held.delete(name)
    if (head.head_ref_commit !== head.head_commit || objectId === head.head_commit) continue
    problems.push({
      text: `${name} is ${objectId ?? 'missing'} in Git and ${head.head_commit} in the database`,
      repair: () => remake(app, head, objectId),
    })
  }
  for (const [name, id] of held) {
    const repair = () => updateRefs(app.git, repositoryId, [{ name, from: id, to: undefined }])
    problems.push({ text: `${name} belongs to no pull request`, repair })
  }
  return problems.slice(0, MAX_PROBLEMS)
}

async function remake(app: ReposApp, { id }: HeadRef, objectId: string | undefined): Promise<void> {
  await transaction(app.db, (tx) => putHeadRef(tx, id, objectId ?? null))
  const pull = await findPullRequestById(app.db, id)
  if (pull) await prepareHead(app, pull)
}
