import type { VNode } from 'preact'
import type { User } from '#gen/branchline/v1/user_pb.ts'
import { Icon } from '../components/icon.tsx'
import { SignInLink } from '../components/page.tsx'
import { t } from '../language/texts.tsx'
import { HeaderMenus } from './header-menus.tsx'

interface HeaderProps {
  readonly user: User | undefined
  /** Whether the page does not know yet who is there. */
  readonly isLoading: boolean
}

/** The head of all pages: places of the site, search, and what belongs to the user. */
export function Header({ user, isLoading }: HeaderProps): VNode {
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
        <HeaderMenus user={user} />
      </nav>
    </header>
  )
}
