import type { VNode } from 'preact'
import type { User } from '#gen/branchline/v1/user_pb.ts'
import { loadScript } from '../api/scripts.ts'
import { Icon } from '../components/icon.tsx'
import { useLoad } from '../components/load.tsx'
import { SignInLink } from '../components/page.tsx'

interface HeaderProps {
  readonly user: User | undefined
  /** Whether the page does not know yet who is there. */
  readonly isLoading: boolean
}

const loadMenus = async () => (await import('./header.later.ts')).HeaderMenus

/** The head of all pages: places of the site, search, and what belongs to the user. */
export function Header({ user, isLoading }: HeaderProps): VNode {
  // Loaded beside the page, which shows without them.
  const { value: Menus } = useLoad(() => loadScript(loadMenus), [])
  return (
    <header class="top">
      <nav aria-label="Site">
        <a class="brand" href="/">
          <Icon name="git-branch" /> Branchline
        </a>
        <a class="wide" href="/explore">
          Explore
        </a>
        {user && (
          <>
            <a class="wide" href="/issues" data-key="g d">
              Issues
            </a>
            <a class="wide" href="/memos">
              Memos
            </a>
          </>
        )}
        <a class="wide" href="/-/api">
          API
        </a>
        <span class="space" />
        {!user && !isLoading && <SignInLink />}
        {Menus && <Menus user={user} />}
      </nav>
    </header>
  )
}
