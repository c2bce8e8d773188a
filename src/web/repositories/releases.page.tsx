import type { VNode } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type { Attachment, Release } from '#gen/branchline/v1/release_pb.ts'
import { ReleaseService } from '#gen/branchline/v1/release_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { codeHref, repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { sendFile } from '../api/uploads.ts'
import { Download, useIsPublic } from '../code/download.tsx'
import { sizeText, Time } from '../components/formats.tsx'
import { onSubmit } from '../components/forms.tsx'
import { FailureNote, Later, Show, useAction, useLoad } from '../components/load.tsx'
import { Markup } from '../components/markup.tsx'
import { Pager, pageOf } from '../components/page.tsx'
import { T, t } from '../language/texts.tsx'
import type { PageProps } from '../routes.ts'
import { RepositoryFrame } from './repository.tsx'

const loadNewRelease = async () => (await import('./new-release.tsx')).NewRelease

/** The releases of a repository, or the one of a tag. */
export function ReleasesPage({ owner, repo, rest, query }: PageProps): VNode {
  const name = { owner, repo }
  const tag = rest[0] === 'tag' ? rest.slice(1).join('/') : undefined
  return (
    <RepositoryFrame {...name} tab="Releases" title={tag ?? t('Releases')}>
      {(repository) => {
        const place = { name, repository }
        if (rest[0] === 'new' && rest.length === 1)
          return <Later load={loadNewRelease} with={{ repository }} />
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
  const isPublic = useIsPublic(place.repository)
  const { of } = useApi()
  const list = useLoad(
    (signal) => of(ReleaseService).listReleases({ ...name, page }, { signal }),
    [page],
  )
  return (
    <Show of={list}>
      {({ releases, total, limit }) => (
        <>
          {releases.length === 0 && <p class="empty">{t('No releases.')}</p>}
          {place.repository.permissions?.push && !place.repository.archived && (
            <p>
              <a href={`${repositoryHref(name)}/releases/new`}>{t('New release')}</a>
            </p>
          )}
          {isPublic && (
            <p>
              <a href={`${repositoryHref(name)}/releases.atom`}>{t('Atom feed')}</a>
            </p>
          )}
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
        {draft && <span class="tag">{t('draft @state')}</span>}
        {prerelease && <span class="tag">{t('pre-release')}</span>}
      </h2>
      <p class="facts">
        <T
          text="{tag} by {author} {time}"
          tag={<a href={base.page}>{tagName}</a>}
          author={author?.login}
          time={<Time at={publishedAt} />}
        />
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

/** The form that adds a file to a release, with its progress. */
function AssetUpload(props: {
  name: { owner: string; repo: string }
  release: { id: bigint; title: string }
  onUploaded: () => void
}): VNode {
  const { name, release, onUploaded } = props
  const { session } = useApi()
  const id = useId()
  const [part, setPart] = useState(0)
  const ended = useRef<AbortController | undefined>(undefined)
  useEffect(() => () => ended.current?.abort(), [])
  const sending = useAction<HTMLFormElement>(async (form) => {
    const file = new FormData(form).get('file')
    if (!(file instanceof File)) return
    setPart(0)
    const controller = new AbortController()
    ended.current = controller
    const query = new URLSearchParams({ name: file.name })
    await sendFile({
      href: `/api/v1/repos${repositoryHref(name)}/releases/${release.id}/assets?${query}`,
      file,
      token: await session.token(),
      signal: controller.signal,
      onProgress: setPart,
    })
    form.reset()
    onUploaded()
  })
  return (
    <form onSubmit={onSubmit(sending.run)}>
      <label>
        {t('Add a file to {release}', { release: release.title })}
        <input type="file" name="file" required />
      </label>
      <p class="row">
        <button type="submit" disabled={sending.isRunning}>
          {t('Upload')}
          <span class="hidden"> {t('to {release}', { release: release.title })}</span>
        </button>
        {sending.isRunning && (
          <>
            <label for={id}>
              {part < 1
                ? t('{percent} % sent', { percent: Math.floor(part * 100) })
                : t('The server stores the file')}
            </label>
            <progress id={id} value={part} max={1} />
            <button type="button" onClick={() => ended.current?.abort()}>
              {t('Stop')}
            </button>
          </>
        )}
      </p>
      {sending.failure && <FailureNote failure={sending.failure} />}
    </form>
  )
}
