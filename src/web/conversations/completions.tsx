import type { RefObject, VNode } from 'preact'
import { useEffect, useId, useState } from 'preact/hooks'
import { IssueQueryService } from '#gen/branchline/v1/issue_query_service_pb.ts'
import { type Api, useApi } from '../api/client.ts'
import { useLoad } from '../components/load.tsx'
import { plural, t } from '../language/texts.tsx'
import { type BegunName, begunName, withName } from './begun-name.ts'

interface CompletionsProps {
  /** The repository whose people, issues and pull requests are offered. */
  readonly name: { readonly owner: string; readonly repo: string }
  readonly field: RefObject<HTMLTextAreaElement | null>
  readonly text: string
  readonly onText: (text: string) => void
}

/** A name that may stand behind `@` or `#`. */
interface Completion {
  readonly name: string
  /** A title, for people. */
  readonly title?: string
}

/** A person waits for no list, but types on. */
const PAUSE_MS = 150

/** A longer list hides what is below it. */
const MAX_LISTED = 8

/**
 * Offers people behind `@`, and issues and pull requests behind `#`. The arrow keys choose one, Enter
 * or Tab takes it, Escape closes the list.
 */
export function Completions({ name, field, text, onText }: CompletionsProps): VNode {
  const api = useApi()
  const list = useId()
  const [begun, setBegun] = useState<BegunName>()
  const [closed, setClosed] = useState('')
  const [at, setAt] = useState(0)
  // The text changes as the user types, and the caret is where the user types.
  useEffect(() => {
    const element = field.current
    const isTyping = element !== null && element === document.activeElement
    setBegun(isTyping ? begunName(text, element.selectionStart) : undefined)
    setAt(0)
  }, [text, field])
  const key = begun ? keyOf(begun) : ''
  const found = useLoad((signal) => complete(api, name, begun, signal), [key])
  const isOpen = key !== closed && found.value?.key === key
  const completions = isOpen ? (found.value?.completions ?? []) : []
  const take = ({ name: taken }: Completion) => {
    const element = field.current
    if (!element || !begun) return
    const next = withName(text, begun, taken)
    // The caret would go to the end if the text changed later.
    element.value = next.text
    element.setSelectionRange(next.caret, next.caret)
    setClosed(keyOf({ ...begun, part: taken }))
    onText(next.text)
  }
  useKeys(field, list, {
    count: completions.length,
    at,
    onMove: setAt,
    onTake: () => completions[at] && take(completions[at]),
    onClose: () => setClosed(key),
  })
  return (
    <>
      <p role="status" class="hidden">
        {completions.length > 0 &&
          plural(completions.length, '{count} proposal.', '{count} proposals.')}
      </p>
      {completions.length > 0 && (
        <div id={list} class="completions" role="listbox" aria-label={t('Proposals')}>
          {completions.map((completion, i) => (
            <button
              type="button"
              tabIndex={-1}
              key={completion.name}
              id={`${list}-${i}`}
              role="option"
              aria-selected={i === at}
              // The text keeps the focus.
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => take(completion)}
            >
              {begun?.sign}
              {completion.name} {completion.title}
            </button>
          ))}
        </div>
      )}
    </>
  )
}

function keyOf({ start, sign, part }: BegunName): string {
  return `${start} ${sign}${part}`
}

/** A list that the keys of a text field move through. */
interface KeyedList {
  readonly count: number
  /** Index of the chosen entry. */
  readonly at: number
  onMove(at: number): void
  onTake(): void
  onClose(): void
}

/** Lets the keys of a text field choose from an open list, and tells assistive technology so. */
function useKeys(field: CompletionsProps['field'], id: string, list: KeyedList): void {
  useEffect(() => {
    const element = field.current
    const { count, at, onMove, onTake, onClose } = list
    if (!element || count === 0) return
    const press = (event: KeyboardEvent) => {
      // Ctrl and Enter send the form.
      if (event.ctrlKey || event.metaKey || event.altKey) return
      if (event.key === 'ArrowDown') onMove((at + 1) % count)
      else if (event.key === 'ArrowUp') onMove((at + count - 1) % count)
      else if (event.key === 'Escape') onClose()
      else if (event.key === 'Enter' || event.key === 'Tab') onTake()
      else return
      event.preventDefault()
      event.stopPropagation()
    }
    element.addEventListener('keydown', press)
    element.addEventListener('blur', onClose)
    element.setAttribute('aria-autocomplete', 'list')
    element.setAttribute('aria-controls', id)
    element.setAttribute('aria-activedescendant', `${id}-${at}`)
    return () => {
      element.removeEventListener('keydown', press)
      element.removeEventListener('blur', onClose)
      element.removeAttribute('aria-controls')
      element.removeAttribute('aria-activedescendant')
    }
  })
}

async function complete(
  api: Api,
  name: CompletionsProps['name'],
  begun: BegunName | undefined,
  signal: AbortSignal,
): Promise<{ key: string; completions: readonly Completion[] } | undefined> {
  if (!begun) return undefined
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  signal.throwIfAborted()
  const find = begun.sign === '@' ? findPeople : findIssues
  return { key: keyOf(begun), completions: await find(api, name, begun.part, signal) }
}

async function findPeople(
  { of }: Api,
  { owner, repo }: CompletionsProps['name'],
  part: string,
  signal: AbortSignal,
): Promise<Completion[]> {
  const query = `author:${part}`
  const request = { owner, repo, query, position: query.length }
  const { completions } = await of(IssueQueryService).explainIssueQuery(request, { signal })
  return completions
    .map(({ text }) => ({ name: text }))
    .filter(({ name }) => !NOBODY.has(name))
    .slice(0, MAX_LISTED)
}

/** Values of a query that are no people. */
const NOBODY: ReadonlySet<string> = new Set(['@me', 'none', 'any'])

async function findIssues(
  { of }: Api,
  { owner, repo }: CompletionsProps['name'],
  part: string,
  signal: AbortSignal,
): Promise<Completion[]> {
  // A number finds the issue of that number; other words are the begin of words of titles.
  const words = part.replace(/^-+/, '')
  const query = words === '' || /^\d+$/.test(words) ? words : `in:title ${words}`
  const request = { owner, repo, query, sort: 'recentupdate', limit: MAX_LISTED }
  const { items } = await of(IssueQueryService).queryIssues(request, { signal })
  const named = items.map(({ number, title }) => ({ name: String(number), title }))
  // The number that the user has typed comes first.
  return named.sort((one, other) => Number(other.name === words) - Number(one.name === words))
}
