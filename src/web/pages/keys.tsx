import type { VNode } from 'preact'
import { SettingsFrame } from '../parts/account-settings.tsx'
import { GpgKeys } from '../parts/gpg-keys.tsx'
import { pageOf } from '../parts/pager.tsx'
import { SshKeys } from '../parts/ssh-keys.tsx'
import type { PageProps } from '../routes.ts'

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
