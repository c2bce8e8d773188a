import type { ComponentChildren, VNode } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import { useApi } from '../api/client.ts'
import { T, t } from '../language/texts.tsx'
import { useFragment } from './navigation.ts'

/** Names the page in the browser, and for screen readers after a navigation. */
export function useTitle(title: string): void {
  // Together with the heading, not after the next frame.
  useLayoutEffect(() => {
    document.title = `${title} · Branchline`
  }, [title])
}

/** The page of an address that shows nothing to the user. */
export function NotFound(): VNode {
  const { session } = useApi()
  useTitle(t('Page not found'))
  return (
    <div class="empty">
      <h1>{t('Page not found')}</h1>
      <p>{t('There is nothing at this address, or your account may not see it.')}</p>
      {session.user ? (
        <p>{t('Check the address, or ask the owner of the repository for access.')}</p>
      ) : (
        <p>
          <T text="If it is private: {signIn}" signIn={<SignInLink />} />
        </p>
      )}
      <p>
        <a class="button" href="/explore">
          {t('Find a repository')}
        </a>
      </p>
    </div>
  )
}

/**
 * Returns whether the server has said with the page that a stranger sees nothing at this address, so
 * that a stranger need not ask again.
 */
export function useIsKnownMissing(): boolean {
  const { session } = useApi()
  return document.documentElement.dataset.page === 'missing' && session.user === undefined
}

/** The sign-in leads back to the present page. */
export function SignInLink(): VNode {
  const { pathname, search } = location
  const fragment = useFragment()
  const isLogin = pathname === '/user/login' || pathname === '/user/sign_up'
  const back =
    isLogin || pathname === '/'
      ? ''
      : `?redirect_to=${encodeURIComponent(pathname + search + fragment)}`
  return <a href={`/user/login${back}`}>{t('Sign in')}</a>
}

/** Links to the neighbouring pages of a list. */
export function Pager(props: { page: number; limit: number; total: bigint }): VNode | null {
  const { page, limit, total } = props
  const last = Math.max(1, Math.ceil(Number(total) / Math.max(limit, 1)))
  if (last === 1) return null
  return (
    <nav class="pager" aria-label={t('Pages')}>
      {page > 1 && (
        <a rel="prev" href={withPage(page - 1)}>
          {t('Previous')}
        </a>
      )}
      <span>{t('Page {page} of {last}', { page: String(page), last: String(last) })}</span>
      {page < last && (
        <a rel="next" href={withPage(page + 1)}>
          {t('Next')}
        </a>
      )}
    </nav>
  )
}

/** Returns the page that an address names. */
export function pageOf(query: URLSearchParams): number {
  const page = Number(query.get('page') ?? '1')
  return Number.isInteger(page) && page > 0 ? page : 1
}

function withPage(page: number): string {
  const query = new URLSearchParams(location.search)
  query.set('page', String(page))
  return `${location.pathname}?${query}`
}

/** A region that scrolls by itself. The keyboard has to reach it, or could not scroll it. */
export function Scrolling(props: {
  label: string
  className?: string
  children: ComponentChildren
}): VNode {
  const { label, className = '', children } = props
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: https://dequeuniversity.com/rules/axe/html/4.10/scrollable-region-focusable
    <section class={`scroll ${className}`} aria-label={label} tabIndex={0}>
      {children}
    </section>
  )
}
