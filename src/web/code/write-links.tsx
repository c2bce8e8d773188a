import type { VNode } from 'preact'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { encodePath, repositoryHref } from '../addresses.ts'
import { t } from '../language/texts.tsx'
import type { RefAndPath } from './refs.tsx'

/** Links to the forms that change a file, or add files to a folder. */
export function WriteLinks(props: {
  repository: Repository
  place: RefAndPath
  isFile: boolean
}): VNode | null {
  const { repository, place, isFile } = props
  const { ref, path } = place
  if (ref.kind !== 'branch' || !repository.permissions?.push || repository.archived) return null
  const base = repositoryHref({ owner: repository.owner?.login ?? '', repo: repository.name })
  const hrefOf = (page: string) =>
    `${base}/_${page}/${encodeURIComponent(ref.name)}${path === '' ? '' : `/${encodePath(path)}`}`
  return isFile ? (
    <>
      <a href={hrefOf('edit')}>{t('Edit')}</a>
      <a href={hrefOf('delete')}>{t('Delete')}</a>
    </>
  ) : (
    <>
      <a href={hrefOf('new')}>{t('New file')}</a>
      <a href={hrefOf('upload')}>{t('Upload files')}</a>
    </>
  )
}
