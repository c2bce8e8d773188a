import type { VNode } from 'preact'
import { pageOf } from '../components/pager.tsx'
import type { PageProps } from '../routes.ts'
import { SettingsFrame } from './account-settings.tsx'
import { GpgKeys } from './gpg-keys.tsx'
import { SshKeys } from './ssh-keys.tsx'

/** The keys that sign what the user commits. */
export default function KeysPage({ query }: PageProps): VNode {
  return (
    <SettingsFrame tab="Keys">
      {() => (
        <>
          <p>
            The server verifies the signatures of your commits and tags by these keys. Git reaches
            the server over HTTPS, and signs in by an{' '}
            <a href="/user/settings/tokens">access token</a>.
          </p>
          <SshKeys page={pageOf(query)} />
          <GpgKeys />
        </>
      )}
    </SettingsFrame>
  )
}
