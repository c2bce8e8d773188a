import { fileURLToPath } from 'node:url'
import type { DescMethod } from '@bufbuild/protobuf'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseAllowedHosts } from '../../src/platform/outbound/allowed-hosts.ts'
import { testClock } from '../support/app.ts'
import { type GitUpstream, startGitUpstream } from '../support/git-upstream.ts'
import { settleNotices } from '../support/notices.ts'
import {
  createTestUsers,
  createToken,
  PASSWORD,
  startTestServer,
  type TestServer,
} from '../support/server.ts'
import { isOfForge, servedMethods } from './forge-matrix/ask.ts'
import { STORY, type Step, type StoryProps, UNTOLD } from './forge-story.ts'
import { type Answer, testGoldenAnswers } from './golden-answers.ts'

const FOLDER = fileURLToPath(new URL('golden/forge/', import.meta.url))
const PROPS: StoryProps = { upstream: '', token: '', tagObject: '' }
/** Methods whose answers are those of another one at their place in the story. */
const SAME_AS = {
  'CollaboratorService.ListAssignees': [
    'CollaboratorService.ListReviewers',
    'OrganizationService.ListOrganizationMembers',
    'SubscriptionService.ListRepositorySubscribers',
  ],
  'FollowService.ListMyFollowers': ['FollowService.ListUserFollowers'],
  'GitHookService.GetGitHook': ['GitHookService.EditGitHook'],
  'GpgKeyService.ListMyGpgKeys': ['GpgKeyService.ListUserGpgKeys'],
  'HookService.GetRepositoryHook': ['HookService.EditRepositoryHook'],
  'IssueCommentService.ListIssueComments': ['IssueCommentService.ListRepositoryComments'],
  'IssueService.AddIssueLabels': [
    'IssueService.ListIssueLabels',
    'IssueService.ReplaceIssueLabels',
  ],
  'IssueService.RemoveIssueAssignees': ['SubIssueService.RemoveSubIssue'],
  'IssueService.EditIssue': ['IssueService.AddIssueDependency'],
  'IssueService.ListIssueDependencies': ['IssueService.ListIssueBlocks'],
  'IssueService.GetIssue': ['IssueService.RemoveIssueDependency'],
  'IssueService.ListIssues': ['IssueService.SearchIssues'],
  'IssueViewService.GetIssueView': ['IssueViewService.EditIssueView'],
  'IssueViewService.GetUserIssueView': ['IssueViewService.EditUserIssueView'],
  'LabelService.GetOrganizationLabel': ['LabelService.EditOrganizationLabel'],
  'LabelService.GetRepositoryLabel': ['LabelService.EditRepositoryLabel'],
  'MilestoneService.GetMilestone': ['MilestoneService.EditMilestone'],
  'NotificationService.ListNotificationThreads': [
    'NotificationService.ListRepositoryNotificationThreads',
  ],
  'OrganizationHookService.GetOrganizationHook': ['OrganizationHookService.EditOrganizationHook'],
  'OrganizationService.GetOrganization': ['OrganizationService.EditOrganization'],
  'OrganizationService.ListOrganizations': [
    'AdminService.AdminListOrganizations',
    'AdminService.AdminListUserOrganizations',
    'OrganizationService.ListMyOrganizations',
    'OrganizationService.ListUserOrganizations',
  ],
  'PublicKeyService.ListMyPublicKeys': ['PublicKeyService.ListUserPublicKeys'],
  'PullRequestService.GetPullRequest': ['PullFileService.GetCommitPullRequest'],
  'OrganizationService.ListPublicMembers': ['QuotaGroupService.AdminListQuotaGroupUsers'],
  'QuotaGroupService.AdminGetQuotaRule': ['QuotaGroupService.AdminEditQuotaRule'],
  'QuotaService.CheckMyQuota': ['QuotaService.CheckOrganizationQuota'],
  'ReleaseService.GetRelease': [
    'ReleaseService.GetLatestRelease',
    'ReleaseService.GetReleaseByTag',
  ],
  'RepositoryService.GetRepository': [
    'RepositoryService.EditRepository',
    'RepositoryService.GetRepositoryById',
  ],
  'ReviewService.GetReview': ['ReviewService.UndismissReview'],
  'SubscriptionService.GetRepositorySubscription': [
    'SubscriptionService.SetRepositorySubscription',
  ],
  'SubscriptionService.ListIssueSubscribers': ['AccountService.ListOrganizationBlockedUsers'],
  'StopwatchService.StartStopwatch': [
    'StopwatchService.DeleteStopwatch',
    'StopwatchService.StopStopwatch',
  ],
  'SystemHookService.GetSystemHook': ['SystemHookService.EditSystemHook'],
  'TagProtectionService.GetTagProtection': ['TagProtectionService.EditTagProtection'],
  'TeamService.GetTeam': ['TeamService.EditTeam', 'TeamService.GetRepositoryTeam'],
  'TeamService.ListRepositoryTeams': ['TeamService.ListOrganizationTeams'],
  'TeamService.ListTeamMembers': [
    'AccountService.ListBlockedUsers',
    'CollaboratorService.ListCollaborators',
  ],
  'TeamService.ListTeamRepositories': ['RepositoryService.ListOrganizationRepositories'],
  'TrackedTimeService.AddTrackedTime': [
    'TrackedTimeService.DeleteTrackedTime',
    'TrackedTimeService.ListRepositoryTrackedTimes',
    'TrackedTimeService.ListUserTrackedTimes',
    'TrackedTimeService.ResetTrackedTimes',
  ],
  'TrackedTimeService.ListMyTrackedTimes': ['StopwatchService.ListMyStopwatches'],
  'UserHookService.GetUserHook': ['UserHookService.EditUserHook'],
}

const nameOf = (method: DescMethod) => `${method.parent.name}.${method.name}`

let server: TestServer
let upstream: GitUpstream

/** By the method; the last one where there are several calls of it. */
const answers = new Map<string, Answer>()

beforeAll(async () => {
  upstream = await startGitUpstream()
  upstream.commit('main')
  server = await startTestServer({
    clock: testClock(),
    webhookAllowedHosts: parseAllowedHosts('127.0.0.1'),
    // The key is the instance's own, and the commits differ by it.
    settings: { gitHooks: true, signing: false },
  })
  // The answer to a new pull request says whether it can be merged, however busy the machine is.
  server.app.patience.mergeCheckMs = 60_000
  const users = await createTestUsers(server.url)
  const token = await createToken(server.url, users.bob, ['all'])
  const authorization: Record<Step['who'], string> = {
    ada: users.ada.authorization,
    bob: users.bob.authorization,
    carol: users.carol.authorization,
    'bob by password': `Basic ${Buffer.from(`bob:${PASSWORD}`).toString('base64')}`,
    token: `token ${token}`,
  }
  let tagObject = ''
  for (const tell of STORY) {
    const { method, who, verb, path, body } = tell({ upstream: upstream.url, token, tagObject })
    // Threads, and whether a pull request can be merged, appear a moment after the change.
    await settleNotices(server.app)
    await server.app.background.settled()
    const response = await fetch(`${server.url}/api/v1${path}`, {
      method: verb,
      headers: { authorization: authorization[who], 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const answer = readBody(await response.text())
    answers.set(nameOf(method), { status: response.status, body: withoutChance(answer) })
    if (method.name === 'CreateTag') tagObject = (answer as { id: string }).id
  }
})
afterAll(async () => {
  await server.stop()
  await upstream.stop()
})

/** JSON as it is, other text as text, and nothing as null. */
function readBody(text: string): unknown {
  if (text === '') return null
  return /^[[{"]/.test(text) ? JSON.parse(text) : text
}

describe('the JSON of', () => {
  testGoldenAnswers({
    folder: FOLDER,
    names: [...new Set(STORY.map((tell) => nameOf(tell(PROPS).method)))],
    sameAs: SAME_AS,
    answerOf: (name) => answers.get(name),
  })
})

it('the story tells of every method of the forge', async () => {
  const methods = (await servedMethods()).filter(
    (method) => isOfForge(method) && !UNTOLD.includes(method),
  )
  expect([...answers.keys()].sort()).toEqual(methods.map(nameOf).sort())
})

/** What chance decides, and so differs from run to run. The clock stands still. */
const CHANCE: readonly (readonly [RegExp, string])[] = [
  [/127\.0\.0\.1:\d+/g, '<host>'],
  [/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, '<uuid>'],
  [/^[0-9a-f]{64}$/, '<proof>'],
  [/^remote_mirror_[0-9a-f]{16}$/, '<remote>'],
  [/\+branchline-\S+$/, '+branchline-<version>'],
  [/^branchline_pat_[0-9A-Za-z]+$/, '<token>'],
  [/^branchline_ocs_[0-9A-Za-z]+$/, '<secret>'],
]

/**
 * Members whose whole value is chance. What a repository takes of the disk is measured a little
 * later.
 */
const isChance = (name: string, owner: object) =>
  ['token_last_eight', 'event_cursor'].includes(name) ||
  (['size', 'owned_size'].includes(name) && 'full_name' in owner)

function withoutChance(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutChance)
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value)
    return Object.fromEntries(
      members.map(([name, item]) => [
        name,
        isChance(name, value) ? `<${name}>` : withoutChance(item),
      ]),
    )
  }
  if (typeof value !== 'string') return value
  return CHANCE.reduce((text, [pattern, name]) => text.replace(pattern, name), value)
}
