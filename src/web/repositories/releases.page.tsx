import type { VNode } from 'preact'
import type { Attachment, Release } from '#gen/branchline/v1/release_pb.ts'
import { ReleaseService } from '#gen/branchline/v1/release_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { codeHref, repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { Download, useIsPublic } from '../code/download.tsx'
import { sizeText } from '../components/bytes.ts'
import { Show, useLoad } from '../components/load.tsx'
import { Markup } from '../components/markup.tsx'
import { Pager, pageOf } from '../components/pager.tsx'
import { Time } from '../components/time.tsx'
import type { PageProps } from '../routes.ts'
import { AssetUpload } from './asset-upload.tsx'
import { RepositoryFrame } from './repository.tsx'

/** The releases of a repository, or the one of a tag. */
export default function ReleasesPage({ owner, repo, rest, query }: PageProps): VNode {
  const name = { owner, repo }
  const tag = rest[0] === 'tag' ? rest.slice(1).join('/') : undefined
  return (
    <RepositoryFrame {...name} tab="Releases" title={tag ?? 'Releases'}>
      {(repository) => {
        const place = { name, repository }
        return tag === undefined ? (
          <Releases {...place} page={pageOf(query)} />
        ) : (
          <OneRelease {...place} tag={tag} />
        )
      }}
    </RepositoryFrame>
  )
}

interface Place {
  readonly name: { readonly owner: string; readonly repo: string }
  readonly repository: Repository
}

function Releases({ page, ...place }: Place & { page: number }): VNode {
  const { name } = place
  const { of } = useApi()
  const list = useLoad(
    (signal) => of(ReleaseService).listReleases({ ...name, page }, { signal }),
    [page],
  )
  return (
    <Show of={list}>
      {({ releases, total, limit }) => (
        <>
          {releases.length === 0 && <p>No releases.</p>}
          {releases.map((release) => (
            <ReleaseView
              key={String(release.id)}
              {...place}
              release={release}
              onChange={list.reload}
            />
          ))}
          <Pager page={page} limit={limit} total={total} />
        </>
      )}
    </Show>
  )
}

function OneRelease({ tag, ...place }: Place & { tag: string }): VNode {
  const { name } = place
  const { of } = useApi()
  const release = useLoad(
    (signal) => of(ReleaseService).getReleaseByTag({ ...name, tag }, { signal }),
    [tag],
  )
  return (
    <Show of={release}>
      {(value) => <ReleaseView {...place} release={value} onChange={release.reload} />}
    </Show>
  )
}

function ReleaseView(props: Place & { release: Release; onChange: () => void }): VNode {
  const { name, repository, release, onChange } = props
  const canWrite = repository.permissions?.push === true && !repository.archived
  const { tagName, draft, prerelease, assets, author, publishedAt, body } = release
  const isPublic = useIsPublic(repository)
  const title = release.name || tagName
  const base = {
    page: codeHref(name, { kind: 'tag', name: tagName }, ''),
    raw: `${repositoryHref(name)}/raw/commit/${encodeURIComponent(tagName)}`,
  }
  return (
    <article class="release">
      <h2>
        <a href={`${repositoryHref(name)}/releases/tag/${encodeURIComponent(tagName)}`}>{title}</a>{' '}
        {draft && <span class="tag">draft</span>}
        {prerelease && <span class="tag">pre-release</span>}
      </h2>
      <p class="facts">
        <a href={base.page}>{tagName}</a> by {author?.login} <Time at={publishedAt} />
      </p>
      {body !== '' && <Markup text={body} base={base} />}
      {assets.length > 0 && (
        <ul>
          {assets.map((asset) => (
            <li key={asset.uuid}>
              <Asset asset={asset} isPublic={isPublic && !draft} /> ({sizeText(asset.size)})
            </li>
          ))}
        </ul>
      )}
      {canWrite && (
        <AssetUpload name={name} release={{ id: release.id, title }} onUploaded={onChange} />
      )}
    </article>
  )
}

function Asset({ asset, isPublic }: { asset: Attachment; isPublic: boolean }): VNode {
  const { of } = useApi()
  const { uuid, name, size, browserDownloadUrl } = asset
  const file = {
    name,
    href: browserDownloadUrl,
    bytes: Number(size),
    isPublic,
    open: (signal: AbortSignal) => of(ReleaseService).getAttachment({ uuid }, { signal }),
  }
  return <Download file={file}>{name}</Download>
}
