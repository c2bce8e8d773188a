import { BranchService } from '#gen/branchline/v1/branch_service_pb.ts'
import { RepositoryService } from '#gen/branchline/v1/repository_service_pb.ts'
import { TagService } from '#gen/branchline/v1/tag_service_pb.ts'
import { blameHref, codeHref, type RefName } from '../addresses.ts'
import type { Api } from '../api/client.ts'
import { findRef, type RefAndPath } from '../code/refs.tsx'
import { goInstead } from '../components/navigation.ts'
import { say } from '../components/toast.tsx'
import { t } from '../language/texts.tsx'
import { routeOf } from '../routes.ts'

/**
 * Replaces the branch or tag in the address of a file or folder by its commit, so that the address shows
 * the same for ever.
 */
export async function showPermalink(api: Api): Promise<void> {
  const { href, hash } = location
  const route = routeOf(new URL(href))
  if (!route) return
  const { owner, repo } = route.props
  const { ref, path } = await placeOf(api, route.props)
  const sha = await commitOf(api, { owner, repo }, ref)
  // The user has gone elsewhere meanwhile.
  if (location.href !== href) return
  const hrefOf = route.name === 'blame' ? blameHref : codeHref
  const permanent = hrefOf({ owner, repo }, { kind: 'commit', name: sha }, path) + hash
  if (ref.kind !== 'commit') goInstead(permanent)
  say(t('The address names commit {commit}', { commit: sha.slice(0, 10) }))
}

/** Returns the ref and the path that the address of a page of files names. */
async function placeOf(
  api: Api,
  { owner, repo, rest }: { owner: string; repo: string; rest: readonly string[] },
): Promise<RefAndPath> {
  const repository = await api.of(RepositoryService).getRepository({ owner, repo })
  return findRef(api, repository, rest, new AbortController().signal)
}

async function commitOf(
  { of }: Api,
  name: { owner: string; repo: string },
  ref: RefName,
): Promise<string> {
  if (ref.kind === 'commit') return ref.name
  const id =
    ref.kind === 'branch'
      ? (await of(BranchService).getBranch({ ...name, branch: ref.name })).commit?.id
      : (await of(TagService).getTag({ ...name, tag: ref.name })).commit?.sha
  if (!id) throw new Error('the answer names no commit')
  return id
}
