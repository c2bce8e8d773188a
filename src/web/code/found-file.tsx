import type { VNode } from 'preact'
import type { FoundFile, FoundLine } from '#gen/branchline/v1/code_search_service_pb.ts'
import { codeHref, repositoryHref } from '../addresses.ts'
import { Scrolling } from '../components/page.tsx'
import { t } from '../language/texts.tsx'

/** A row with a file that a search has found: the lines that match, with marks and links. */
export function FoundFileView(props: {
  name: { readonly owner: string; readonly repo: string }
  sha: string
  file: FoundFile
  /** Whether the heading names the repository. */
  showsRepository?: boolean
}): VNode {
  const { name, sha, file, showsRepository = false } = props
  const { path, lines, moreMatches } = file
  const href = codeHref(name, { kind: 'commit', name: sha }, path)
  const isAfterGap = (i: number) => i > 0 && lines[i]?.number !== (lines[i - 1]?.number ?? 0) + 1
  return (
    <li class="found">
      <section aria-label={showsRepository ? `${name.owner}/${name.repo}: ${path}` : path}>
        <h2 class="file-name">
          {showsRepository && (
            <>
              <a href={repositoryHref(name)}>
                {name.owner}/{name.repo}
              </a>
              {': '}
            </>
          )}
          <a href={href} data-row>
            {path}
          </a>
        </h2>
        <Scrolling className="source" label={t('Lines of {file}', { file: path })}>
          <pre class="numbers">
            {lines.map(({ number }, i) => (
              <span key={number}>
                {isAfterGap(i) && '⋯\n'}
                <a
                  href={`${href}#L${number}`}
                  aria-label={t('Line {line} of {file}', { line: String(number), file: path })}
                >
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
            {t('More lines match.')} <a href={href}>{t('The whole file')}</a>
          </p>
        )}
      </section>
    </li>
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
