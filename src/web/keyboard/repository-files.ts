import { ContentService } from '#gen/branchline/v1/content_service_pb.ts'
import { RepositoryService } from '#gen/branchline/v1/repository_service_pb.ts'
import type { RefName } from '../addresses.ts'
import type { Api } from '../api/client.ts'
import { findRef } from '../code/refs.tsx'
import { routeOf } from '../routes.ts'
import { FuzzyTexts } from './fuzzy.ts'

/** The files of the repository on the page. */
export interface RepositoryFiles {
  readonly name: { readonly owner: string; readonly repo: string }
  readonly ref: RefName
  readonly paths: FuzzyTexts
  /** Whether there are more files. */
  readonly isTruncated: boolean
}

/** Pages of files, whose address names a ref. Elsewhere the default branch counts. */
const PAGES_OF_FILES: ReadonlySet<string> = new Set(['code', 'blame', 'commits'])

/** Loads the paths of the files of the ref on the page, or of the default branch. */
export async function loadRepositoryFiles(
  api: Api,
  signal: AbortSignal,
): Promise<RepositoryFiles | undefined> {
  const route = routeOf(new URL(location.href))
  if (!route || route.props.repo === '') return undefined
  const { owner, repo, rest } = route.props
  const name = { owner, repo }
  const repository = await api.of(RepositoryService).getRepository(name, { signal })
  const parts = PAGES_OF_FILES.has(route.name) ? rest : []
  const { ref } = await findRef(api, repository, parts, signal)
  const request = { ...name, ref: repository.empty ? '' : ref.name }
  const { paths, truncated } = await api.of(ContentService).listFilePaths(request, { signal })
  return { name, ref, paths: new FuzzyTexts(paths), isTruncated: truncated }
}
