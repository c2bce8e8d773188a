import type { VNode } from 'preact'
import type { User } from '#gen/branchline/v1/user_pb.ts'
import { loadScript } from '../api/scripts.ts'
import { Icon } from '../components/icon.tsx'
import { useLoad } from '../components/load.tsx'
import { SignInLink } from '../components/page.tsx'
import { t } from '../language/texts.tsx'

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
      <nav aria-label={t('Site')}>
        <a class="brand" href="/">
          <Icon name="git-branch" /> Branchline
        </a>
        <a class="wide" href="/explore">
          {t('Explore')}
        </a>
        {user && (
          <>
            <a class="wide" href="/issues" data-key="g d">
              {t('Issues')}
            </a>
            <a class="wide" href="/memos">
              {t('Memos')}
            </a>
          </>
        )}
        <a class="wide" href="/-/api">
          {t('API')}
        </a>
        <span class="space" />
        {!user && !isLoading && <SignInLink />}
        {Menus && <Menus user={user} />}
      </nav>
    </header>
  )
}
