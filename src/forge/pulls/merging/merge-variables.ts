import { cleanSigner } from '../../../platform/git/objects/commits.ts'
import type { Owner } from '../../accounts/schema.ts'
import { findOwnerById } from '../../accounts/users/owners.rows.ts'
import { GHOST } from '../../accounts/users/owners.ts'
import { findUsersByIds } from '../../accounts/users/users.rows.ts'
import { publicIdentity } from '../../repositories/commits/git-identity.ts'
import { findRepositoryById } from '../../repositories/lifecycle/repositories.rows.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import type { Repository } from '../../repositories/schema.ts'
import type { OpenPull } from '../heads/open-pulls.ts'
import { countApprovals } from '../review/approvals.ts'
import type { OpenMerge } from './open-merges.ts'

/** The head of a pull request, without what only some users may read. */
export interface TemplateHead {
  /** Undefined for the base repository, a deleted repository and a private one; so is `owner`. */
  readonly repository: Repository | undefined
  readonly owner: Owner | undefined
  readonly text: string
}

/** Approvers that a message names. */
const MAX_APPROVERS = 10

/** Returns the public name of the head of a pull request. */
export async function headNameOf(
  app: ReposApp,
  { repository: base, pull }: OpenPull,
): Promise<TemplateHead> {
  const { head_repository_id: id, head_branch: branch } = pull
  const nameless = { repository: undefined, owner: undefined }
  if (id === base.id) return { ...nameless, text: branch }
  const repository = id === null ? undefined : await findRepositoryById(app.db, id)
  const owner = repository && (await findOwnerById(app.db, repository.owner_id))
  if (!repository || !owner) return { ...nameless, text: `<deleted>:${branch}` }
  if (repository.private === 1 || owner.visibility !== 'public')
    return { ...nameless, text: branch }
  return { repository, owner, text: `${owner.name}/${repository.name}:${branch}` }
}

/**
 * Returns the variables of templates by name, as in compatible systems. A value is computed when
 * the template asks for it. `ClosingIssues` is always empty because there are no issues.
 */
export async function templateVariables(
  app: ReposApp,
  merge: OpenMerge,
): Promise<ReadonlyMap<string, () => Promise<string> | string>> {
  const { repository, owner, pull } = merge
  const head = await headNameOf(app, merge)
  const isOfBase = pull.head_repository_id === repository.id
  return new Map<string, () => Promise<string> | string>([
    ['BaseRepoOwnerName', () => owner.name],
    ['BaseRepoName', () => repository.name],
    ['BaseBranch', () => pull.base_branch],
    ['HeadRepoOwnerName', () => (isOfBase ? owner : head.owner)?.name ?? ''],
    ['HeadRepoName', () => (isOfBase ? repository : head.repository)?.name ?? ''],
    ['HeadBranch', () => pull.head_branch],
    ['PullRequestTitle', () => pull.title],
    ['PullRequestDescription', () => pull.body],
    ['PullRequestPosterName', () => posterName(app, merge)],
    ['PullRequestIndex', () => String(pull.number)],
    ['PullRequestReference', () => `#${pull.number}`],
    [
      'ReviewedOn',
      () => `Reviewed-on: ${app.publicUrl()}/${owner.name}/${repository.name}/pulls/${pull.number}`,
    ],
    ['ReviewedBy', () => reviewedBy(app, merge)],
    ['ClosingIssues', () => ''],
  ])
}

async function posterName({ db }: ReposApp, { pull }: OpenPull): Promise<string> {
  const poster = pull.poster_id === null ? undefined : await findOwnerById(db, pull.poster_id)
  return (poster ?? GHOST).name
}

/** Returns a line for each user whose approval counts. */
async function reviewedBy(app: ReposApp, merge: OpenMerge): Promise<string> {
  const rule = merge.rights.inForce?.rule
  const { approverIds } = await countApprovals(app, merge, merge.pull, rule)
  const users = await findUsersByIds(app.db, approverIds.slice(0, MAX_APPROVERS))
  const lines = approverIds.flatMap((id) => {
    const user = users.get(id)
    if (!user) return []
    const { name, email } = cleanSigner(publicIdentity(app, user))
    return `Reviewed-by: ${name} <${email}>`
  })
  return lines.join('\n')
}
