import type { Tx } from '../../../platform/database/schema.ts'
import { readCommit } from '../../../platform/git/objects/commits.ts'
import { copyTree } from '../../../platform/git/packs/forks.ts'
import { blockExists } from '../../accounts/users/blocks.rows.ts'
import { isBlocked } from '../../accounts/users/blocks.ts'
import { holderOf, type SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { RepositoryName } from '../../core/names.ts'
import { openRepository } from '../access/permissions.ts'
import { findCommitId } from '../content/git-reading.ts'
import type { ReposApp } from '../ports.ts'
import { attachTopics, topicsOf } from '../search/topics.rows.ts'
import { createRepositoryIn } from './create-repository.ts'
import { openPlaceOf } from './migrate.ts'
import type { RepositoryView } from './repository-views.ts'

/** The request for a repository from a template. Empty texts mean the default. */
interface GenerationDraft {
  /** Name of the user or organisation that owns it; empty for the caller. */
  readonly owner: string
  readonly name: string
  readonly description: string
  readonly private: boolean
  /** Empty for that of the template. */
  readonly defaultBranch: string
  /** Whether to copy the files of the default branch, as one commit. */
  readonly gitContent: boolean
  readonly topics: boolean
  readonly labels: boolean
  /** Whether to copy the picture. Repositories have none. */
  readonly avatar: boolean
  /** Parts that this server does not copy. */
  readonly webhooks: boolean
  readonly gitHooks: boolean
  readonly protectedBranch: boolean
}

const NO_TEXTS = { readme: '', gitignores: '', license: '', issueLabels: '', objectFormatName: '' }

/**
 * Creates a repository from a template: its files without their history, its labels and topics, as
 * requested.
 */
export async function generateRepository(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  draft: GenerationDraft,
): Promise<RepositoryView> {
  const { repository: template, owner } = await openRepository(app, caller, name, 'read')
  if (await isBlocked(app, [owner.id], caller.user.id)) throw new DomainError('USER_BLOCKED')
  if (template.template === 0) throw new DomainError('REPOSITORY_NOT_TEMPLATE')
  checkParts(draft)
  const place = await openPlaceOf(app, caller, { ownerName: draft.owner, ownerId: 0 })
  const commitId = draft.gitContent ? await findCommitId(app, template, '') : undefined
  const commit =
    commitId === undefined ? undefined : await readCommit(app.git, template.id, commitId)
  const treeId = commit?.treeId
  const settings = {
    ...NO_TEXTS,
    name: draft.name,
    description: draft.description,
    private: draft.private,
    template: false,
    autoInit: false,
    defaultBranch: draft.defaultBranch || template.default_branch,
  }
  return app.copies(holderOf(caller), () =>
    createRepositoryIn(app, caller, place, settings, {
      addRows: async (tx, id) => {
        // The owner may have blocked the caller since.
        if (await blockExists(tx, [owner.id], caller.user.id)) throw new DomainError('USER_BLOCKED')
        if (draft.labels) await app.newLabels.copy(tx, template.id, id)
        if (draft.topics) await copyTopics(app, tx, template.id, id)
      },
      ...(treeId !== undefined && {
        // The size of the tree alone is not known.
        bytes: Math.max(template.size_kib * 1024, 1),
        writeTree: async (id) => {
          await copyTree(app.git, template.id, treeId, id)
          return treeId
        },
      }),
    }),
  )
}

function checkParts(draft: GenerationDraft): void {
  const { gitContent, topics, labels: withLabels, avatar } = draft
  const unsupported = {
    webhooks: draft.webhooks,
    git_hooks: draft.gitHooks,
    protected_branch: draft.protectedBranch,
  }
  const part = Object.entries(unsupported).find(([, isWanted]) => isWanted)?.[0]
  // A part that is silently missing could be one that protects the repository.
  if (part) throw new DomainError('TEMPLATE_PART_UNSUPPORTED', { field: part })
  if (!gitContent && !topics && !withLabels && !avatar)
    throw new DomainError('TEMPLATE_PARTS_MISSING')
}

async function copyTopics(app: ReposApp, tx: Tx, fromId: number, toId: number): Promise<void> {
  const names = (await topicsOf(tx, [fromId])).get(fromId) ?? []
  await attachTopics(tx, toId, names, nowSeconds(app.clock))
}
