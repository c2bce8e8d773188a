import { HEADS, type RefUpdate } from '../../../platform/git/core/ref-names.ts'
import type { SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { type OpenRepository, openRepositoryById } from '../../repositories/access/permissions.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { latestOpenPull } from '../heads/pull-heads.rows.ts'

/** Branches of one push that the messages mention. */
const MAX_NOTICES = 5

/**
 * Returns the messages that `git push` prints about pull requests, in the words of compatible
 * systems: the address of the open pull request of each branch or, if there is none, the address to
 * create one.
 *
 * @param updates moved refs.
 * @returns lines. None if there is nothing to say.
 */
export async function pullMessages(
  app: ReposApp,
  caller: SignedIn,
  repositoryId: number,
  updates: readonly RefUpdate[],
): Promise<string[]> {
  const branches = updates.flatMap(({ name, to }) =>
    name.startsWith(HEADS) && to !== undefined ? name.slice(HEADS.length) : [],
  )
  if (branches.length === 0) return []
  const places = await placesOf(app, caller, repositoryId)
  if (!places) return []
  const { head, base } = places
  const isFork = head.repository.id !== base.repository.id
  const proposed = branches.filter((branch) => isFork || branch !== base.repository.default_branch)
  const lines: string[] = []
  for (const branch of proposed.slice(0, MAX_NOTICES)) {
    const url = `${app.publicUrl()}/${base.owner.name}/${base.repository.name}`
    const pull = await latestOpenPull(app.db, base.repository.id, head.repository.id, branch)
    const name = isFork ? `${head.owner.name}:${branch}` : branch
    lines.push(
      ...(pull
        ? ['', 'Visit the existing pull request:', `  ${url}/pulls/${pull.number}`, '']
        : [
            '',
            `Create a new pull request for '${name}':`,
            `  ${url}/compare/${rangeOf(base, name)}`,
            '',
          ]),
    )
  }
  return lines
}

/**
 * Returns the repository of the push, and the one that its pull requests go to. Undefined if the
 * caller cannot create pull requests there.
 */
async function placesOf(
  app: ReposApp,
  caller: SignedIn,
  repositoryId: number,
): Promise<{ head: OpenRepository; base: OpenRepository } | undefined> {
  try {
    const head = await openRepositoryById(app, caller, repositoryId, 'read')
    const baseId = head.repository.parent_id ?? repositoryId
    const base = await openRepositoryById(app, caller, baseId, 'read', 'pulls')
    return base.repository.archive_time === null ? { head, base } : undefined
  } catch (error) {
    if (error instanceof DomainError) return undefined
    throw error
  }
}

function rangeOf({ repository }: OpenRepository, head: string): string {
  const escaped = (name: string) =>
    name.split('/').map(encodeURIComponent).join('/').replaceAll('%3A', ':')
  return `${escaped(repository.default_branch)}...${escaped(head)}`
}
