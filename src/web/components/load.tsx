import type { ComponentChildren, VNode } from 'preact'
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { useApi } from '../api/client.ts'
import { type Failure, failureOf } from '../api/failure.ts'
import { loadScript } from '../api/scripts.ts'
import { t } from '../language/texts.tsx'
import { NotFound, SignInLink } from './page.tsx'

/** Something that comes from the server. */
export interface Loaded<Value> {
  readonly value: Value | undefined
  readonly failure: Failure | undefined
  /** Loads it again. The value of before stays until then. */
  reload(): void
}

/**
 * Loads something when the component appears, and when `keys` change.
 *
 * @param load gets a signal that ends with the component.
 */
export function useLoad<Value>(
  load: (signal: AbortSignal) => Promise<Value>,
  keys: readonly unknown[],
): Loaded<Value> {
  const [count, setCount] = useState(0)
  const [state, setState] = useState<Omit<Loaded<Value>, 'reload'>>({
    value: undefined,
    failure: undefined,
  })
  const latest = useRef(load)
  latest.current = load
  useEffect(() => {
    const ended = new AbortController()
    const { signal } = ended
    latest.current(signal).then(
      (value) => signal.aborted || setState({ value, failure: undefined }),
      (error: unknown) =>
        signal.aborted || setState(({ value }) => ({ value, failure: failureOf(error) })),
    )
    return () => ended.abort()
  }, [count, ...keys])
  const reload = useCallback(() => setCount((before) => before + 1), [])
  useEffect(() => {
    // The browser has kept the whole page, and what the page shows may have changed since.
    const comeBack = ({ persisted }: PageTransitionEvent) => persisted && reload()
    addEventListener('pageshow', comeBack)
    return () => removeEventListener('pageshow', comeBack)
  }, [reload])
  return { ...state, reload }
}

/** Shows what was loaded, that it is on its way, or why it failed. */
export function Show<Value>(props: {
  of: Loaded<Value>
  /** Whether a failure may mean that the whole page does not exist. */
  isPage?: boolean
  children: (value: Value) => ComponentChildren
}): VNode {
  const { value, failure } = props.of
  if (failure && value === undefined && props.isPage && failure.isMissing) return <NotFound />
  return (
    <>
      {failure && <FailureNote failure={failure} />}
      {value === undefined
        ? !failure && <p class="loading">{t('Loading…')}</p>
        : props.children(value)}
    </>
  )
}

/** An action of the user, such as a form that is sent. */
interface Action<Input> {
  readonly isRunning: boolean
  readonly failure: Failure | undefined
  run(input: Input): void
}

/** Runs an action once at a time, and keeps its failure until the next one. */
export function useAction<Input = void>(act: (input: Input) => Promise<unknown>): Action<Input> {
  const [state, setState] = useState<Omit<Action<Input>, 'run'>>({
    isRunning: false,
    failure: undefined,
  })
  return {
    ...state,
    run(input) {
      if (state.isRunning) return
      setState({ isRunning: true, failure: undefined })
      act(input).then(
        () => setState({ isRunning: false, failure: undefined }),
        (error: unknown) => setState({ isRunning: false, failure: failureOf(error) }),
      )
    },
  }
}

/**
 * A component whose script loads when the component appears.
 *
 * @param props.load imports the component. `props.with` are its properties.
 */
export function Later<Props extends object>(props: {
  load: () => Promise<(props: Props) => VNode>
  with: Props
}): VNode {
  const component = useLoad(() => loadScript(props.load), [])
  return <Show of={component}>{(Component) => <Component {...props.with} />}</Show>
}

/** A failure: what happened, why, and what to do. */
export function FailureNote({ failure }: { failure: Failure }): VNode {
  const { session } = useApi()
  const { message, reason } = failure
  const advice = useAdvice(failure)
  // A wrong passcode is such a failure too, of a user who has a session.
  const isSignedOut = failure.isSignedOut && session.user === undefined
  return (
    <div class="note problem" role="alert">
      <p>
        <strong>{/[.!?]$/.test(message) ? message : `${message}.`}</strong> {advice}
      </p>
      {isSignedOut && (
        <p>
          <SignInLink />
        </p>
      )}
      {failure.needsReload && (
        <button type="button" onClick={() => location.reload()}>
          {t('Reload the page')}
        </button>
      )}
      {reason !== '' && <p class="reason">{t('Reason: {reason}', { reason })}</p>}
    </div>
  )
}

/** Returns what the user can do about a failure, as soon as the script with the advice has loaded. */
function useAdvice({ reason, advice }: Failure): string {
  const [known, setKnown] = useState('')
  useEffect(() => {
    if (reason === '') return
    let isCurrent = true
    const show = (text: string) => isCurrent && setKnown(text)
    import('../api/advice.ts').then(
      ({ adviceFor }) => show(adviceFor(reason) || advice),
      () => show(advice),
    )
    return () => {
      isCurrent = false
    }
  }, [reason, advice])
  return reason === '' ? advice : known
}
