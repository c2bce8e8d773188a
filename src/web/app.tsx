import { Component, type ComponentChildren, type VNode } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { User } from '#gen/branchline/v1/user_pb.ts'
import { Code, ConnectError } from './api/calls.ts'
import { ApiContext, createApi, useApi } from './api/client.ts'
import { type Failure, failureOf } from './api/failure.ts'
import { endReload, reloadOnce, ScriptFailure } from './api/scripts.ts'
import type { Session } from './api/session.ts'
import { nextWait, pause } from './api/waiting.ts'
import { FailureNote } from './components/load.tsx'
import { useNavigation } from './components/navigation.ts'
import { NotFound, SignInLink, useTitle } from './components/page.tsx'
import { Toast } from './components/toast.tsx'
import { Header } from './header/header.tsx'
import { Keyboard } from './keyboard/keyboard.tsx'
import { T, t } from './language/texts.tsx'
import { loadPage, type Page } from './pages.ts'
import { type Route, routeOf } from './routes.ts'

/** A page that is loaded, with its address; or that the address has none; or why none is there. */
type Shown =
  | { readonly href: string; readonly route: Route; readonly Page: Page }
  | 'missing'
  | { readonly failure: Failure }

/** The application: the session, the address, and the page of the address. */
export function App(): VNode {
  const [, redraw] = useState(0)
  const api = useMemo(() => createApi(() => redraw((count) => count + 1)), [])
  const [isReady, setReady] = useState(false)
  const [problem, setProblem] = useState<unknown>()
  const [shown, setShown] = useState<Shown>()
  const href = useNavigation()

  useEffect(() => {
    // The server knows whether there may be a session, so that strangers ask for none.
    const hasSession = document.documentElement.dataset.session === 'maybe'
    const resumed = hasSession ? resume(api.session, setProblem) : Promise.resolve()
    resumed.catch(setProblem).then(() => setReady(true))
  }, [api])

  useEffect(() => {
    const ended = new AbortController()
    setProblem(undefined)
    void show(href, setShown, ended.signal)
    return () => ended.abort()
  }, [href])
  useEffect(() => {
    // The link or form that led here is gone, and with it the focus. Screen readers go on from here.
    if (shown !== undefined && document.activeElement === document.body)
      document.getElementById('content')?.focus({ preventScroll: true })
  }, [shown])

  const isLoading = !isReady || shown === undefined
  return (
    <ApiContext.Provider value={api}>
      <Frame user={api.session.user} isLoading={isLoading}>
        {problem !== undefined && <FailureNote failure={failureOf(problem)} />}
        {!isLoading && content(shown, api.session.user?.name ?? '')}
      </Frame>
    </ApiContext.Provider>
  )
}

/**
 * Loads the page of an address. A page whose script fails says so, and loads anew by itself when the
 * server has answered: nothing of the page is there that the user could lose.
 */
async function show(
  href: string,
  setShown: (shown: Shown) => void,
  signal: AbortSignal,
): Promise<void> {
  const route = routeOf(new URL(href))
  if (!route) return setShown('missing')
  for (let failures = 1; !signal.aborted; failures += 1) {
    try {
      const Page = await loadPage(route.name)
      endReload()
      if (!signal.aborted) setShown({ href, route, Page })
      return
    } catch (error) {
      if (signal.aborted) return
      setShown({ failure: failureOf(error) })
      if (error instanceof ScriptFailure) return reloadOnce()
      await pause(nextWait(failures), signal)
    }
  }
}

/** Codes of a server that stops, starts or is busy. */
const PASSING_CODES: ReadonlySet<Code> = new Set([
  Code.Unavailable,
  Code.Unknown,
  Code.DeadlineExceeded,
  Code.ResourceExhausted,
])

/** Continues the session of an earlier page, when the server can be reached. */
async function resume(session: Session, onProblem: (problem: unknown) => void): Promise<void> {
  for (let failures = 1; ; failures += 1) {
    try {
      await session.resume()
      return onProblem(undefined)
    } catch (error) {
      if (!PASSING_CODES.has(ConnectError.from(error).code)) throw error
      onProblem(error)
      await pause(nextWait(failures))
    }
  }
}

/** A page begins anew for another address, and for another user. */
function content(shown: Shown, user: string): VNode {
  if (shown === 'missing') return <NotFound />
  if ('failure' in shown) return <NotLoaded failure={shown.failure} />
  const { Page, href, route } = shown
  return (
    <Guard key={`${user} ${href}`}>
      <Page {...route.props} />
    </Guard>
  )
}

function NotLoaded({ failure }: { failure: Failure }): VNode {
  useTitle(t('Page not loaded'))
  return (
    <>
      <h1>{t('Page not loaded')}</h1>
      <FailureNote failure={failure} />
    </>
  )
}

/** Shows a fault of a page instead of nothing. */
class Guard extends Component<{ children: ComponentChildren }, { fault?: unknown }> {
  static override getDerivedStateFromError(fault: unknown) {
    return { fault }
  }

  override render(): ComponentChildren {
    const { fault } = this.state
    return fault === undefined ? this.props.children : <FailureNote failure={failureOf(fault)} />
  }
}

/** Frame of all pages. */
function Frame(props: {
  user: User | undefined
  isLoading: boolean
  children: ComponentChildren
}): VNode {
  const { session } = useApi()
  const { user, isLoading, children } = props
  return (
    <>
      <a class="skip" href="#content">
        {t('Skip to the content')}
      </a>
      <Header user={user} isLoading={isLoading} />
      <main id="content" tabIndex={-1} aria-busy={isLoading}>
        {session.hasEnded && <EndedSession />}
        {children}
      </main>
      <Keyboard />
      <Toast />
    </>
  )
}

/** Why the user is a stranger on a page that knew the user. */
function EndedSession(): VNode {
  return (
    <div class="note problem" role="alert">
      <p>
        <T
          text="{signedOut} Your session has ended: somebody ended it or set a new password, or it was not used for 30 days. {signIn}"
          signedOut={<strong>{t('You are signed out.')}</strong>}
          signIn={<SignInLink />}
        />
      </p>
    </div>
  )
}
