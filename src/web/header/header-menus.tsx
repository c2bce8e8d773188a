import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { NotificationService } from '#gen/branchline/v1/notification_service_pb.ts'
import { type User, User_Role } from '#gen/branchline/v1/user_pb.ts'
import { useApi } from '../api/client.ts'
import { Avatar } from '../components/avatar.tsx'
import { fieldOf, onSubmit } from '../components/forms.tsx'
import { Icon } from '../components/icon.tsx'
import { FailureNote, useAction } from '../components/load.tsx'
import { Menu } from '../components/menu.tsx'
import { goTo } from '../components/navigation.ts'
import { ThemeChoice } from '../components/theme-choice.tsx'
import { LanguageChoice } from '../language/language-choice.tsx'
import { numberText, t } from '../language/texts.tsx'

/** The search and the menus of the header. */
export function HeaderMenus({ user }: { user: User | undefined }): VNode {
  return (
    <>
      <Search className="find wide" />
      {user && <UserMenus user={user} />}
      {!user && (
        <Menu label={t('Display')} button={<Icon name="sun-moon" />}>
          <ThemeChoice />
          <LanguageChoice />
        </Menu>
      )}
      <Menu label={t('Places')} className="plain phone" button={<Icon name="menu" />}>
        <Search className="find" />
        <a href="/explore">{t('Explore')}</a>
        {user && (
          <>
            <a href="/issues">{t('Issues')}</a>
            <a href="/memos">{t('Memos')}</a>
          </>
        )}
        <a href="/-/api">{t('API')}</a>
      </Menu>
    </>
  )
}

/** The search in the header, or in the menu of a phone. */
function Search({ className }: { className: string }): VNode {
  const search = (form: HTMLFormElement) => {
    form.closest<HTMLElement>('[popover]')?.hidePopover()
    goTo(`/explore?q=${encodeURIComponent(fieldOf(form, 'q'))}`)
  }
  return (
    <search class={className}>
      <form onSubmit={onSubmit(search)}>
        <Icon name="search" />
        <input
          type="search"
          name="q"
          aria-label={t('Find a repository')}
          placeholder={t('Find a repository')}
        />
      </form>
    </search>
  )
}

function UserMenus({ user }: { user: User }): VNode {
  const { session } = useApi()
  const signOut = useAction(async () => {
    await session.signOut()
    goTo('/')
  })
  return (
    <>
      <Menu label={t('Create')} button={<Icon name="plus" />}>
        <a href="/">
          <Icon name="book-marked" /> {t('Repository')}
        </a>
        <a href="/-/import">
          <Icon name="copy" /> {t('Import of a repository')}
        </a>
        <a href="/-/organizations">
          <Icon name="compass" /> {t('Organisation')}
        </a>
        <a href="/user/settings/tokens">
          <Icon name="lock" /> {t('Access token')}
        </a>
      </Menu>
      <NotificationsLink href={location.href} />
      <Menu
        label={t('Account of {user}', { user: user.username })}
        button={<Avatar name={user.username} />}
      >
        <a href={`/${user.username}`}>
          <Avatar name={user.username} /> {user.username}
        </a>
        <hr />
        <a href="/user/settings">
          <Icon name="settings" /> {t('Settings')}
        </a>
        {user.role === User_Role.ADMIN && (
          <a href="/-/admin">
            <Icon name="shield" /> {t('Administration')}
          </a>
        )}
        <ThemeChoice />
        <LanguageChoice />
        <hr />
        <button type="button" disabled={signOut.isRunning} onClick={() => signOut.run()}>
          <Icon name="log-out" /> {t('Sign out')}
        </button>
      </Menu>
      {signOut.failure && <FailureNote failure={signOut.failure} />}
    </>
  )
}

/**
 * The link to the notifications, with the number of unread ones.
 *
 * @param href the address of the page. Each page counts again.
 */
function NotificationsLink({ href }: { href: string }): VNode {
  const { of } = useApi()
  const [count, setCount] = useState(0n)
  useEffect(() => {
    const ended = new AbortController()
    of(NotificationService)
      .getNotificationCount({}, { signal: ended.signal })
      // Without a number, the link is of use too.
      .then(
        (answer) => setCount(answer.new),
        () => undefined,
      )
    return () => ended.abort()
  }, [href])
  return (
    <a href="/notifications" data-key="g n">
      <Icon name="bell" />
      <span class="hidden">{t('Notifications')}</span>
      {count > 0n && <span class="tag">{numberText(count)}</span>}
    </a>
  )
}
