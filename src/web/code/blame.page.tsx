import type { VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import {
  type Blame,
  type BlamedCommit,
  type BlamedLines,
  ContentService,
} from '#gen/branchline/v1/content_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { codeHref, repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { failureOf } from '../api/failure.ts'
import { Command, quoted } from '../components/command.tsx'
import { fromBase64, Time, textOf } from '../components/formats.tsx'
import { type LineRange, namedLines } from '../components/fragments.ts'
import { Show, useLoad } from '../components/load.tsx'
import { useFragment } from '../components/navigation.ts'
import { T, t } from '../language/texts.tsx'
import { RepositoryFrame } from '../repositories/repository.tsx'
import type { PageProps } from '../routes.ts'
import { Breadcrumbs, findRef, type RefAndPath } from './refs.tsx'

/** The parameter of the address that asks for a blame with all commits, as on Gitea. */
const BYPASS = 'bypass-blame-ignore'

/** Authors of the lines of a file. */
export function BlamePage({ owner, repo, rest, query }: PageProps): VNode {
  const file = rest.slice(2).join('/')
  return (
    <RepositoryFrame owner={owner} repo={repo} tab="Code" title={t('Blame of {file}', { file })}>
      {(repository) => (
        <Lines repository={repository} rest={rest} bypasses={query.get(BYPASS) === 'true'} />
      )}
    </RepositoryFrame>
  )
}

function Lines(props: {
  repository: Repository
  rest: readonly string[]
  bypasses: boolean
}): VNode {
  const api = useApi()
  const { repository, rest, bypasses } = props
  const name = { owner: repository.owner?.login ?? '', repo: repository.name }
  const file = useLoad(
    async (signal) => {
      const place = await findRef(api, repository, rest, signal)
      const request = { ...name, path: place.path, ref: place.ref.name }
      const service = api.of(ContentService)
      const [blame, { entry }] = await Promise.all([
        service
          .getBlame({ ...request, bypassIgnoreRevs: bypasses }, { signal })
          .catch(unlessTooLarge),
        service.getContents(request, { signal }),
      ])
      return { place, blame, text: textOf(fromBase64(entry?.content ?? '')) }
    },
    [rest.join('/'), bypasses],
  )
  return (
    <Show of={file} isPage>
      {({ place, blame, text }) => (
        <>
          <div class="bar">
            <Breadcrumbs name={name} place={place} />
            <a href={codeHref(name, place.ref, place.path)}>{t('Without authors')}</a>
          </div>
          {blame && <IgnoredCommits blame={blame} bypasses={bypasses} />}
          {blame === undefined ? (
            <TooLarge place={place} />
          ) : text === undefined ? (
            <p class="note">{t('A binary file.')}</p>
          ) : (
            <BlameTable name={name} blame={blame} text={text} />
          )}
        </>
      )}
    </Show>
  )
}

function unlessTooLarge(error: unknown): undefined {
  if (failureOf(error).reason !== 'FILE_TOO_LARGE') throw error
}

/** How a clone finds out what the server does not. */
function TooLarge({ place: { ref, path } }: { place: RefAndPath }): VNode {
  const remote = ref.kind === 'branch' ? `origin/${ref.name}` : ref.name
  return (
    <div class="note">
      <p>{t('The file is too large to show who wrote its lines. A clone can:')}</p>
      <Command
        label={t('Command that shows who wrote the lines')}
        text={`git blame ${quoted(remote)} -- ${quoted(path)}`}
      />
    </div>
  )
}

/** Says what the list of ignored commits did, with the way to the other blame. */
function IgnoredCommits(props: { blame: Blame; bypasses: boolean }): VNode | null {
  const { blame, bypasses } = props
  const file = <code>.git-blame-ignore-revs</code>
  if (blame.faultyIgnoreRevs)
    return (
      <p class="note">
        <T
          text="{file} has a fault and no effect. It needs one full commit id on each line."
          file={file}
        />
      </p>
    )
  if (!blame.usesIgnoreRevs && !bypasses) return null
  return (
    <p class="note">
      <T
        text={
          bypasses
            ? 'With the commits that {file} lists.'
            : 'Without the commits that {file} lists.'
        }
        file={file}
      />{' '}
      <a href={bypasses ? location.pathname : `?${BYPASS}=true`}>
        {bypasses ? t('Leave them out') : t('Show them')}
      </a>
    </p>
  )
}

function BlameTable(props: {
  name: { owner: string; repo: string }
  blame: Blame
  text: string
}): VNode {
  const { name, blame, text } = props
  const lines = useMemo(() => text.split('\n'), [text])
  const commits = useMemo(
    () => new Map(blame.commits.map((commit) => [commit.sha, commit])),
    [blame],
  )
  const marked = namedLines(useFragment()) ?? NO_LINES
  if (blame.ranges.length === 0) return <p>{t('The file is empty.')}</p>
  return (
    <table class="blame" data-lines>
      <caption class="hidden">{t('Lines and the commits that wrote them')}</caption>
      <colgroup>
        <col class="commit" />
        <col class="line" />
        <col />
      </colgroup>
      <thead class="hidden">
        <tr>
          <th scope="col">{t('Commit')}</th>
          <th scope="col">{t('First line')}</th>
          <th scope="col">{t('Lines')}</th>
        </tr>
      </thead>
      <tbody>
        {blame.ranges.map((range) => (
          <Range
            key={range.startLine}
            name={name}
            range={range}
            commit={commits.get(range.sha)}
            lines={lines}
            marked={marked}
          />
        ))}
      </tbody>
    </table>
  )
}

const NO_LINES: LineRange = { first: 0, last: 0 }

function Range(props: {
  name: { owner: string; repo: string }
  range: BlamedLines
  commit: BlamedCommit | undefined
  lines: readonly string[]
  marked: LineRange
}): VNode {
  const { name, range, commit, lines, marked } = props
  const { first, last } = marked
  const { startLine, lineCount, sha } = range
  const end = startLine - 1 + lineCount
  return (
    <tr>
      <td>
        <a href={`${repositoryHref(name)}/commit/${sha}`}>{commit?.subject || sha.slice(0, 10)}</a>
        <p class="facts">
          {commit?.author?.name} <Time at={commit?.author?.date} />
        </p>
      </td>
      <td class="size">
        <a href={`#L${startLine}`}>{startLine}</a>
      </td>
      <td>
        <pre>
          {textOfLines(lines, startLine, Math.min(end, first - 1))}
          {last >= startLine && first <= end && (
            <mark id={first >= startLine ? `L${first}` : undefined}>
              {textOfLines(lines, Math.max(startLine, first), Math.min(end, last))}
            </mark>
          )}
          {textOfLines(lines, Math.max(startLine, last + 1), end)}
        </pre>
      </td>
    </tr>
  )
}

/** Returns the text of lines, each with its end, from one number to another. */
function textOfLines(lines: readonly string[], from: number, to: number): string {
  return lines
    .slice(from - 1, Math.max(from - 1, to))
    .map((line) => `${line}\n`)
    .join('')
}
