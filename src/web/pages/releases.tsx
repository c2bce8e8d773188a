import type { VNode } from 'preact'
import type { Release } from '#gen/branchline/v1/release_pb.ts'
import { ReleaseService } from '#gen/branchline/v1/release_service_pb.ts'
import { useApi } from '../api/client.ts'
import { Show, useLoad } from '../parts/load.tsx'
import { Markup } from '../parts/markup.tsx'
import { Pager, pageOf } from '../parts/pager.tsx'
import { RepositoryFrame } from '../parts/repository.tsx'
import { Time } from '../parts/time.tsx'
import type { PageProps } from '../routes.ts'
import { codeHref, repositoryHref } from '../text/addresses.ts'
import { sizeText } from '../text/bytes.ts'

/** The releases of a repository, or the one of a tag. */
export default function ReleasesPage({ owner, repo, rest, query }: PageProps): VNode {
  const name = { owner, repo }
  const tag = rest[0] === 'tag' ? rest.slice(1).join('/') : undefined
  return (
    <RepositoryFrame {...name} tab="Releases" title={tag ?? 'Releases'}>
      {() =>
        tag === undefined ? (
          <Releases name={name} page={pageOf(query)} />
        ) : (
          <OneRelease name={name} tag={tag} />
        )
      }
    </RepositoryFrame>
  )
}

interface Name {
  readonly owner: string
  readonly repo: string
}

function Releases({ name, page }: { name: Name; page: number }): VNode {
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
            <ReleaseView key={String(release.id)} name={name} release={release} />
          ))}
          <Pager page={page} limit={limit} total={total} />
        </>
      )}
    </Show>
  )
}

function OneRelease({ name, tag }: { name: Name; tag: string }): VNode {
  const { of } = useApi()
  const release = useLoad(
    (signal) => of(ReleaseService).getReleaseByTag({ ...name, tag }, { signal }),
    [tag],
  )
  return <Show of={release}>{(value) => <ReleaseView name={name} release={value} />}</Show>
}

function ReleaseView({ name, release }: { name: Name; release: Release }): VNode {
  const { tagName, draft, prerelease, assets, author, publishedAt, body } = release
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
          {assets.map(({ uuid, name: file, size, browserDownloadUrl }) => (
            <li key={uuid}>
              <a href={browserDownloadUrl} download>
                {file}
              </a>{' '}
              ({sizeText(size)})
            </li>
          ))}
        </ul>
      )}
    </article>
  )
}
