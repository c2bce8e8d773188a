import type { VNode } from 'preact'
import { t } from '../language/texts.tsx'
import { Icon, type IconName } from './icon.tsx'

const ISSUE_ICONS: Readonly<Record<string, IconName>> = {
  open: 'circle-dot',
  closed: 'circle-check',
}

const PULL_ICONS: Readonly<Record<string, IconName>> = {
  open: 'git-pull-request',
  draft: 'git-pull-request-draft',
  closed: 'git-pull-request-closed',
  merged: 'git-merge',
}

const TEXTS: Readonly<Record<string, string>> = {
  open: t('open @state'),
  closed: t('closed @state'),
  merged: t('merged @state'),
  draft: t('draft @state'),
}

/** The state of an issue or a pull request: a word on a colour, beside an icon. */
export function StateTag(props: { state: string; isPull?: boolean }): VNode {
  const { state, isPull = false } = props
  const icon = (isPull ? PULL_ICONS : ISSUE_ICONS)[state]
  return (
    <span class={`tag ${state}`}>
      {icon !== undefined && <Icon name={icon} />}
      {TEXTS[state] ?? state}
    </span>
  )
}
