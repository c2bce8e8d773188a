import type { VNode } from 'preact'
import {
  CodeSearchService,
  type FoundFile,
  type FoundLine,
} from '#gen/branchline/v1/code_search_service_pb.ts'
import { codeHref, repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { counted } from '../components/formats.tsx'
import { Checkbox, Field, fieldOf, isChecked, onSubmit } from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { goTo } from '../components/navigation.ts'
import { Pager, pageOf, Scrolling } from '../components/page.tsx'
import { RepositoryFrame } from '../repositories/repository.tsx'
import type { PageProps } from '../routes.ts'

/** Files on a page. */
const LIMIT = 20

interface RepositoryName {
  readonly owner: string
  readonly repo: string
}

/** Search in the files of a repository. The address has the query. */
export function SearchPage({ owner, repo, query }: PageProps): VNode {
  const text = query.get('q') ?? ''
  const title = text === '' ? 'Search code' : `${text} · Search code`
  const name = { owner, repo }
  return (
    <RepositoryFrame owner={owner} repo={repo} tab="Code" title={title}>
      {() => (
        <>
          <SearchForm key={String(query)} name={name} query={query} />
          {text.trim() !== '' && <Results name={name} query={query} />}
        </>
      )}
    </RepositoryFrame>
  )
}

function SearchForm({ name, query }: { name: RepositoryName; query: URLSearchParams }): VNode {
  const send = (form: HTMLFormElement) => {
    const fields = Object.entries({
      q: fieldOf(form, 'q'),
      path: fieldOf(form, 'path').trim(),
      ref: fieldOf(form, 'ref').trim(),
      regexp: isChecked(form, 'regexp') ? 'true' : '',
      case_sensitive: isChecked(form, 'case_sensitive') ? 'true' : '',
    })
    const asked = new URLSearchParams(fields.filter(([, value]) => value !== ''))
    goTo(`${repositoryHref(name)}/search?${asked}`)
  }
  return (
    <search>
      <form class="row" onSubmit={onSubmit(send)}>
        <Field
          label="Search code"
          type="search"
          name="q"
          required
          maxLength={200}
          autocapitalize="none"
          defaultValue={query.get('q') ?? ''}
        />
        <Field
          label="Paths"
          name="path"
          placeholder="src/**/*.ts !test"
          autocapitalize="none"
          defaultValue={query.get('path') ?? ''}
        />
        <Field
          label="Branch, tag or commit"
          name="ref"
          autocapitalize="none"
          defaultValue={query.get('ref') ?? ''}
        />
        <Checkbox
          label="Regular expression"
          name="regexp"
          isChecked={query.get('regexp') === 'true'}
        />
        <Checkbox
          label="Match case"
          name="case_sensitive"
          isChecked={query.get('case_sensitive') === 'true'}
        />
        <button type="submit">Search</button>
      </form>
    </search>
  )
}

function Results({ name, query }: { name: RepositoryName; query: URLSearchParams }): VNode {
  const { of } = useApi()
  const page = pageOf(query)
  const found = useLoad(
    (signal) =>
      of(CodeSearchService).searchCode(
        {
          ...name,
          q: query.get('q') ?? '',
          path: (query.get('path') ?? '').split(' '),
          ref: query.get('ref') ?? '',
          regexp: query.get('regexp') === 'true',
          caseSensitive: query.get('case_sensitive') === 'true',
          page,
          limit: LIMIT,
        },
        { signal },
      ),
    [String(query)],
  )
  return (
    <Show of={found}>
      {({ files, total, limit, incomplete, sha }) => (
        <>
          <p role="status">
            {total === 0n ? 'No file has such a line.' : `${counted(Number(total), 'file')}.`}
          </p>
          {incomplete && (
            <p class="note">
              The search ended before it had read all files. A longer text, or paths, find the rest.
            </p>
          )}
          {files.map((file) => (
            <File key={file.path} name={name} sha={sha} file={file} />
          ))}
          <Pager page={page} limit={limit} total={total} />
        </>
      )}
    </Show>
  )
}

function File(props: { name: RepositoryName; sha: string; file: FoundFile }): VNode {
  const { name, sha, file } = props
  const { path, lines, moreMatches } = file
  const href = codeHref(name, { kind: 'commit', name: sha }, path)
  const isAfterGap = (i: number) => i > 0 && lines[i]?.number !== (lines[i - 1]?.number ?? 0) + 1
  return (
    <section aria-label={path}>
      <h2 class="file-name">
        <a href={href}>{path}</a>
      </h2>
      <Scrolling className="source" label={`Lines of ${path}`}>
        <pre class="numbers">
          {lines.map(({ number }, i) => (
            <span key={number}>
              {isAfterGap(i) && '⋯\n'}
              <a href={`${href}#L${number}`} aria-label={`Line ${number} of ${path}`}>
                {number}
              </a>
              {'\n'}
            </span>
          ))}
        </pre>
        <pre>
          <code>
            {lines.map((line, i) => (
              <span key={line.number}>
                {isAfterGap(i) && '\n'}
                <Line line={line} />
                {'\n'}
              </span>
            ))}
          </code>
        </pre>
      </Scrolling>
      {moreMatches && (
        <p class="facts">
          More lines match. <a href={href}>The whole file</a>
        </p>
      )}
    </section>
  )
}

/** A line with marks at what matches. */
function Line({ line }: { line: FoundLine }): VNode {
  const { text, ranges, cutAtStart, cutAtEnd } = line
  // The ranges count characters, and a text in JavaScript has units of UTF-16.
  const characters = [...text]
  const part = (start: number, end?: number) => characters.slice(start, end).join('')
  return (
    <>
      {cutAtStart && '…'}
      {ranges.map(({ start, end }, i) => (
        <span key={start}>
          {part(ranges[i - 1]?.end ?? 0, start)}
          <mark>{part(start, end)}</mark>
        </span>
      ))}
      {part(ranges.at(-1)?.end ?? 0)}
      {cutAtEnd && '…'}
    </>
  )
}
