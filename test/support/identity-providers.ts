import type { IdentityProviderValues } from '../../src/forge/accounts/sign-on/identity-providers.ts'
import { CLIENT_ID, CLIENT_SECRET, type OAuthProvider } from './oauth-provider.ts'

/** What an administrator enters to have people sign in through a provider. */
export function providerValues({ tokenUrl, userInfoUrl }: OAuthProvider): IdentityProviderValues {
  return {
    title: 'Example',
    identifierFilter: '',
    config: {
      clientId: CLIENT_ID,
      clientSecret: CLIENT_SECRET,
      authUrl: 'https://sso.example.org/authorize',
      tokenUrl,
      userInfoUrl,
      scopes: ['openid'],
      identifierClaim: 'sub',
      displayNameClaim: 'name',
      emailClaim: 'email',
      avatarUrlClaim: 'picture',
    },
  }
}
