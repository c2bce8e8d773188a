import type { Outbound } from '../../../platform/outbound/outbound.ts'
import type { ProjectSource } from '../project-records.ts'
import { GITEA_LIMIT, GiteaSource } from './gitea-source.ts'
import { GITHUB_HEADERS, GITHUB_LIMIT, GithubSource } from './github-source.ts'
import { GITLAB_LIMIT, GitlabSource } from './gitlab-source.ts'
import { SourceClient, SourceError } from './source-client.ts'

/** The kinds of servers from which projects are imported. */
export const SERVICES = ['github', 'gitea', 'forgejo', 'gitlab', 'branchline'] as const

export type Service = (typeof SERVICES)[number]

/** A project as an import names it. */
export interface SourceName {
  readonly service: Service
  /** Address of the Git repository, without credentials. */
  readonly url: URL
  /** Empty for none. */
  readonly token: string
  /** What is added to the numbers of pull requests, which GitLab counts apart from issues. */
  readonly numberOffset: number
}

type Surroundings = ConstructorParameters<typeof SourceClient>[0]

/**
 * Opens a project on another server.
 *
 * @param signal ends the requests.
 * @throws SourceError if the address names no project.
 */
export function openSource(
  app: Surroundings,
  { service, url, token, numberOffset }: SourceName,
  signal: AbortSignal,
): ProjectSource {
  const { base, project } = placeOf(service, url)
  if (service === 'gitlab') {
    const headers = token === '' ? {} : { 'private-token': token }
    const client = new SourceClient(app, { base, headers, limit: GITLAB_LIMIT }, signal)
    return new GitlabSource(client, project, numberOffset)
  }
  if (service === 'github') {
    const headers = {
      ...GITHUB_HEADERS,
      ...(token !== '' && { authorization: `Bearer ${token}` }),
    }
    return new GithubSource(
      new SourceClient(app, { base, headers, limit: GITHUB_LIMIT }, signal),
      project,
    )
  }
  const headers = token === '' ? {} : { authorization: `token ${token}` }
  return new GiteaSource(
    new SourceClient(app, { base, headers, limit: GITEA_LIMIT }, signal),
    project,
  )
}

/**
 * Checks a project, and returns what must be added to the numbers of its pull requests.
 *
 * @throws SourceError, SourcePause
 */
export async function checkSource(
  app: { readonly outbound: Outbound; readonly clock: { now(): number } },
  name: Omit<SourceName, 'numberOffset'>,
  signal: AbortSignal,
): Promise<number> {
  const source = openSource(app, { ...name, numberOffset: 0 }, signal)
  await source.check()
  return source instanceof GitlabSource ? source.highestIssue() : 0
}

/** Returns the base of the API of a server, and the project as its addresses name it. */
function placeOf(
  service: Service,
  { origin, host, pathname }: URL,
): { base: URL; project: string } {
  const path = pathname.replace(/^\/+|\/+$/g, '').replace(/\.git$/, '')
  const parts = path.split('/')
  const names = service === 'gitlab' ? parts : parts.slice(-2)
  const isProject = names.length >= 2 && names.every((name) => name !== '')
  if (!isProject) throw new SourceError('the address names no project')
  // Gitea may be served below a path.
  const below =
    service === 'gitlab'
      ? ''
      : parts
          .slice(0, -2)
          .map((part) => `/${part}`)
          .join('')
  if (service === 'gitlab')
    return { base: new URL('/api/v4', origin), project: decodeURI(names.join('/')) }
  const project = names.join('/')
  if (service !== 'github') return { base: new URL(`${below}/api/v1`, origin), project }
  const isPublic = host === 'github.com' || host === 'www.github.com'
  return {
    base: isPublic ? new URL('https://api.github.com') : new URL('/api/v3', origin),
    project,
  }
}

/** Returns the origin of the API, which a provider of identities for the same accounts has. */
export function identityOrigin(service: Service, url: URL): string {
  return placeOf(service, url).base.origin
}
