import { cleanSigner } from '../../../git/objects/commits.ts'
import { findOwnerById } from '../../../storage/accounts/owners.ts'
import { findUsersByIds } from '../../../storage/accounts/users.ts'
import { findRepositoryById } from '../../../storage/repos/repositories.ts'
import type { Owner } from '../../../storage/schema/accounts.ts'
import type { Repository } from '../../../storage/schema/repos.ts'
import { GHOST } from '../../accounts/users/owners.ts'
import type { ReposApp } from '../../repos/ports.ts'
import { readBranchRules } from '../../repos/protection/branch-rules.ts'
import { publicIdentity } from '../../repos/reading/git-identity.ts'
import type { OpenPull } from '../access/open-pulls.ts'
import { countApprovals } from '../review/approvals.ts'

/** Where the commits of a pull request come from, as far as everybody may know. */
export interface TemplateHead {
  /**
   * Undefined for a branch of the base, for one that is gone, and for one of which not everybody
   * may know.
   */
  readonly repository: Repository | undefined
  readonly owner: Owner | undefined
  readonly text: string
}

/** Whoever has approved, told of in a message. */
const MAX_APPROVERS = 10

/** What the head of a pull request is called where everybody reads it. */
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
  // What not everybody may read has a name for those alone who may.
  if (repository.private === 1 || owner.visibility !== 'public')
    return { ...nameless, text: branch }
  return { repository, owner, text: `${owner.name}/${repository.name}:${branch}` }
}

/**
 * What templates have places for, by name, in the words of compatible systems. Each is found out
 * when it is asked for.
 *
 * What closes issues is nothing: there are none.
 */
export async function templateVariables(
  app: ReposApp,
  open: OpenPull,
): Promise<ReadonlyMap<string, () => Promise<string> | string>> {
  const { repository, owner, pull } = open
  const head = await headNameOf(app, open)
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
    ['PullRequestPosterName', () => posterName(app, open)],
    ['PullRequestIndex', () => String(pull.number)],
    ['PullRequestReference', () => `#${pull.number}`],
    [
      'ReviewedOn',
      () => `Reviewed-on: ${app.publicUrl()}/${owner.name}/${repository.name}/pulls/${pull.number}`,
    ],
    ['ReviewedBy', () => reviewedBy(app, open)],
    ['ClosingIssues', () => ''],
  ])
}

async function posterName({ db }: ReposApp, { pull }: OpenPull): Promise<string> {
  const poster = pull.poster_id === null ? undefined : await findOwnerById(db, pull.poster_id)
  return (poster ?? GHOST).name
}

/** A line for each of those whose approval counts. */
async function reviewedBy(app: ReposApp, open: OpenPull): Promise<string> {
  const { repository, pull } = open
  const rules = await readBranchRules(app, repository.id, undefined, open.units)
  const { approverIds } = await countApprovals(
    app,
    open,
    pull,
    rules.inForceFor(pull.base_branch)?.rule,
  )
  const users = await findUsersByIds(app.db, approverIds.slice(0, MAX_APPROVERS))
  const lines = approverIds.flatMap((id) => {
    const user = users.get(id)
    if (!user) return []
    const { name, email } = cleanSigner(publicIdentity(app, user))
    return `Reviewed-by: ${name} <${email}>`
  })
  return lines.join('\n')
}
