import { create, type DescMethod, type Message, type MessageInitShape } from '@bufbuild/protobuf'
import { BranchProtectionService } from '#gen/branchline/v1/branch_protection_service_pb.ts'
import { BranchService } from '#gen/branchline/v1/branch_service_pb.ts'
import { CodeSearchService } from '#gen/branchline/v1/code_search_service_pb.ts'
import { CollaboratorService } from '#gen/branchline/v1/collaborator_service_pb.ts'
import { CommitService } from '#gen/branchline/v1/commit_service_pb.ts'
import { CommitStatusService } from '#gen/branchline/v1/commit_status_service_pb.ts'
import { ContentService } from '#gen/branchline/v1/content_service_pb.ts'
import { ConversationService } from '#gen/branchline/v1/conversation_service_pb.ts'
import { DeployKeyService } from '#gen/branchline/v1/deploy_key_service_pb.ts'
import { FeedService } from '#gen/branchline/v1/feed_service_pb.ts'
import { ForkService } from '#gen/branchline/v1/fork_service_pb.ts'
import { GitHookService } from '#gen/branchline/v1/git_hook_service_pb.ts'
import { GitObjectService } from '#gen/branchline/v1/git_object_service_pb.ts'
import { HookService } from '#gen/branchline/v1/hook_service_pb.ts'
import { ImportService } from '#gen/branchline/v1/import_service_pb.ts'
import { IssueAttachmentService } from '#gen/branchline/v1/issue_attachment_service_pb.ts'
import { IssueCommentService } from '#gen/branchline/v1/issue_comment_service_pb.ts'
import { IssueEventService } from '#gen/branchline/v1/issue_event_service_pb.ts'
import { IssueExchangeService } from '#gen/branchline/v1/issue_exchange_service_pb.ts'
import { IssuePinService } from '#gen/branchline/v1/issue_pin_service_pb.ts'
import { IssueQueryService } from '#gen/branchline/v1/issue_query_service_pb.ts'
import { IssueService } from '#gen/branchline/v1/issue_service_pb.ts'
import { IssueTemplateService } from '#gen/branchline/v1/issue_template_service_pb.ts'
import { IssueTransferService } from '#gen/branchline/v1/issue_transfer_service_pb.ts'
import { IssueViewService } from '#gen/branchline/v1/issue_view_service_pb.ts'
import { LabelService } from '#gen/branchline/v1/label_service_pb.ts'
import { LanguageService } from '#gen/branchline/v1/language_service_pb.ts'
import { LfsService } from '#gen/branchline/v1/lfs_service_pb.ts'
import { MaintenanceService } from '#gen/branchline/v1/maintenance_service_pb.ts'
import { MergeQueueService } from '#gen/branchline/v1/merge_queue_service_pb.ts'
import { MilestoneService } from '#gen/branchline/v1/milestone_service_pb.ts'
import { MirrorService } from '#gen/branchline/v1/mirror_service_pb.ts'
import { NotificationService } from '#gen/branchline/v1/notification_service_pb.ts'
import { PullFileService } from '#gen/branchline/v1/pull_file_service_pb.ts'
import { PullMergeService } from '#gen/branchline/v1/pull_merge_service_pb.ts'
import { PullRequestService } from '#gen/branchline/v1/pull_request_service_pb.ts'
import { PullStackService } from '#gen/branchline/v1/pull_stack_service_pb.ts'
import { ReactionService } from '#gen/branchline/v1/reaction_service_pb.ts'
import { ReleaseNoteService } from '#gen/branchline/v1/release_note_service_pb.ts'
import { ReleaseService } from '#gen/branchline/v1/release_service_pb.ts'
import { RepositoryEventService } from '#gen/branchline/v1/repository_event_service_pb.ts'
import { RepositoryService } from '#gen/branchline/v1/repository_service_pb.ts'
import { ReviewService } from '#gen/branchline/v1/review_service_pb.ts'
import { StarService } from '#gen/branchline/v1/star_service_pb.ts'
import { StopwatchService } from '#gen/branchline/v1/stopwatch_service_pb.ts'
import { SubIssueService } from '#gen/branchline/v1/sub_issue_service_pb.ts'
import { SubscriptionService } from '#gen/branchline/v1/subscription_service_pb.ts'
import { SuggestionService } from '#gen/branchline/v1/suggestion_service_pb.ts'
import { TagProtectionService } from '#gen/branchline/v1/tag_protection_service_pb.ts'
import { TagService } from '#gen/branchline/v1/tag_service_pb.ts'
import { TeamService } from '#gen/branchline/v1/team_service_pb.ts'
import { TopicService } from '#gen/branchline/v1/topic_service_pb.ts'
import { TrackedTimeService } from '#gen/branchline/v1/tracked_time_service_pb.ts'
import { ViewedFileService } from '#gen/branchline/v1/viewed_file_service_pb.ts'
import type { Gate, RepositoryNeeds } from './model.ts'
import type { Place } from './stage.ts'

/** A method about a repository: what it asks of its caller, and a call that changes nothing. */
export interface RepositoryRow {
  readonly method: DescMethod
  readonly needs: RepositoryNeeds
  /** The call about a repository. It asks for what is not there, or for what nobody gets. */
  requestTo(place: Pick<Place, 'id' | 'owner' | 'name'>): Message
  /** Whether the call takes the repository away from whoever makes it. */
  readonly consumes: boolean
}

const NOBODY = 'nobody-of-that-name'
const NOTHING = 'nothing-of-that-name'
const NO_NUMBER = 999_999n
/** Number of the pull request, where there is one. */
const PULL = 1n
const NO_OBJECT = '0123456789abcdef0123456789abcdef01234567'

/** Open to anonymous callers where the repository is public. */
const readers: RepositoryNeeds = {
  signedIn: false,
  scopes: ['read:repository'],
  unit: 'code',
  level: 'read',
}
const members: RepositoryNeeds = { ...readers, signedIn: true }
/** Whoever may read any part. */
const visitors: RepositoryNeeds = { ...readers, level: 'none' }
const guests: RepositoryNeeds = { ...visitors, signedIn: true }
const starReaders: RepositoryNeeds = { ...guests, scopes: ['read:repository', 'read:user'] }
const starGivers: RepositoryNeeds = { ...guests, scopes: ['write:repository', 'write:user'] }
const forGuests: RepositoryNeeds = { ...guests, scopes: ['write:repository'] }
const writers: RepositoryNeeds = {
  ...members,
  scopes: ['write:repository'],
  level: 'write',
  writes: true,
}
const committers: RepositoryNeeds = { ...writers, movesRefs: true }
const branchMakers: RepositoryNeeds = { ...committers, needsBranches: true }
const administrators: RepositoryNeeds = { ...writers, level: 'admin' }
const administratorsWhoLook: RepositoryNeeds = { ...members, level: 'admin' }
const hookReaders: RepositoryNeeds = { ...administratorsWhoLook, ofInstanceToo: true }
const hookWriters: RepositoryNeeds = { ...administrators, ofInstanceToo: true }
const owners: RepositoryNeeds = { ...writers, level: 'owner' }
const releaseReaders: RepositoryNeeds = { ...readers, unit: 'releases' }
const releaseWriters: RepositoryNeeds = { ...writers, unit: 'releases' }
/** Of pull requests, which takes the code, too. */
const pullReaders: RepositoryNeeds = { ...readers, unit: 'pulls' }
const pullMakers: RepositoryNeeds = {
  ...pullReaders,
  signedIn: true,
  scopes: ['write:repository'],
  writes: true,
  hidesWithoutCode: true,
}
/** Whoever may read them may say something about one. */
const participants: RepositoryNeeds = { ...pullMakers, hidesWithoutCode: false, ofPull: {} }
const ofPulls = (level: 'write', refusal: Gate) => ({ unit: 'pulls', level, refusal }) as const
const ofCode = (level: 'write' | 'admin', refusal: Gate) =>
  ({ unit: 'code', level, refusal }) as const
const pullEditors: RepositoryNeeds = {
  ...participants,
  ofPull: { of: ofPulls('write', 'PULL_REQUEST_EDIT_DENIED'), first: true },
}
const mergers: RepositoryNeeds = {
  ...participants,
  ofPull: { of: ofCode('write', 'MERGE_DENIED') },
}
const mergersWhoLook: RepositoryNeeds = {
  ...pullReaders,
  signedIn: true,
  ofPull: { of: ofCode('write', 'MERGE_DENIED') },
}
const pullUpdaters: RepositoryNeeds = {
  ...participants,
  ofPull: { of: ofCode('write', 'PULL_REQUEST_UPDATE_DENIED') },
}
const fileViewers: RepositoryNeeds = {
  ...pullReaders,
  signedIn: true,
  scopes: ['write:repository'],
}
const suggestionUsers: RepositoryNeeds = {
  ...participants,
  ofPull: { of: ofCode('write', 'SUGGESTION_DENIED') },
}
const reviewSeekers: RepositoryNeeds = {
  ...participants,
  ofPull: { of: ofPulls('write', 'REVIEW_REQUEST_DENIED') },
}
const dismissers: RepositoryNeeds = {
  ...participants,
  ofPull: { of: ofCode('admin', 'REVIEW_DISMISSAL_DENIED') },
}
const issueReaders: RepositoryNeeds = {
  ...readers,
  scopes: ['read:issue'],
  unit: 'conversations',
}
const subscribers: RepositoryNeeds = { ...issueReaders, signedIn: true, scopes: ['write:issue'] }
const commenters: RepositoryNeeds = { ...subscribers, writes: true, ofPull: {} }
const issueEditors: RepositoryNeeds = {
  ...commenters,
  ofPull: { of: ofPulls('write', 'PULL_REQUEST_EDIT_DENIED'), first: true },
}
/** Of issues, also where the caller may read pull requests only. */
const issueMakers: RepositoryNeeds = { ...subscribers, writes: true, ofIssues: true }
const labellers: RepositoryNeeds = {
  ...commenters,
  ofPull: { of: ofPulls('write', 'REPOSITORY_ACCESS_DENIED'), first: true },
}
const timeReaders: RepositoryNeeds = {
  ...issueReaders,
  signedIn: true,
  scopes: ['read:repository'],
}
const pinners: RepositoryNeeds = {
  ...commenters,
  ofPull: { of: ofCode('admin', 'REPOSITORY_ACCESS_DENIED'), first: true },
}
/** Of comments that nobody has made. */
const menders: RepositoryNeeds = { ...commenters, writes: false }
const attachers: RepositoryNeeds = {
  ...commenters,
  ofPull: { of: ofPulls('write', 'ATTACHMENT_DENIED'), first: true },
}
const planReaders: RepositoryNeeds = { ...readers, scopes: ['read:issue'], unit: 'planning' }
const planners: RepositoryNeeds = { ...writers, scopes: ['write:issue'], unit: 'planning' }

const repositories = RepositoryService.method
const branches = BranchService.method
const branchProtections = BranchProtectionService.method
const collaborators = CollaboratorService.method
const commits = CommitService.method
const statuses = CommitStatusService.method
const contents = ContentService.method
const deployKeys = DeployKeyService.method
const forks = ForkService.method
const hooks = GitHookService.method
const objects = GitObjectService.method
const issues = IssueService.method
const issueExchange = IssueExchangeService.method
const issuePins = IssuePinService.method
const issueQueries = IssueQueryService.method
const issueTransfers = IssueTransferService.method
const subIssues = SubIssueService.method
const issueViews = IssueViewService.method
const issueTemplates = IssueTemplateService.method
const attachments = IssueAttachmentService.method
const issueComments = IssueCommentService.method
const labels = LabelService.method
const milestones = MilestoneService.method
const maintenance = MaintenanceService.method
const imports = ImportService.method
const mirrors = MirrorService.method
const pulls = PullRequestService.method
const pullFiles = PullFileService.method
const pullMerges = PullMergeService.method
const mergeQueues = MergeQueueService.method
const releaseNotes = ReleaseNoteService.method
const releases = ReleaseService.method
const reviews = ReviewService.method
const suggestions = SuggestionService.method
const pullStacks = PullStackService.method
const viewedFiles = ViewedFileService.method
const tags = TagService.method
const tagProtections = TagProtectionService.method
const teams = TeamService.method
const codeSearch = CodeSearchService.method
const feeds = FeedService.method
const languages = LanguageService.method
const lfs = LfsService.method
const webhooks = HookService.method
const topics = TopicService.method
const stars = StarService.method
const subscriptions = SubscriptionService.method
const conversations = ConversationService.method
const reactions = ReactionService.method
const notifications = NotificationService.method
const trackedTimes = TrackedTimeService.method
const stopwatches = StopwatchService.method

export const REPOSITORY_ROWS: readonly RepositoryRow[] = [
  row(repositories.getRepository, visitors),
  { ...row(repositories.getRepositoryById, visitors), requestTo: ({ id }) => byNumber(id) },
  {
    ...row(repositories.generateRepository, { ...members, scopes: ['write:repository'] }),
    requestTo: ({ owner, name }) =>
      create(repositories.generateRepository.input, { templateOwner: owner, templateRepo: name }),
  },
  row(repositories.editRepository, administrators, { name: '..' }),
  // Also where it is archived.
  { ...row(repositories.deleteRepository, { ...owners, writes: false }), consumes: true },
  row(repositories.transferRepository, owners, { newOwner: NOBODY }),
  // Nothing is offered to anybody.
  row(repositories.acceptRepositoryTransfer, forGuests),
  row(repositories.rejectRepositoryTransfer, forGuests),

  row(topics.listRepositoryTopics, visitors),
  row(topics.replaceRepositoryTopics, administrators, { topics: ['no topic'] }),
  row(topics.addRepositoryTopic, administrators, { topic: 'no topic' }),
  row(topics.removeRepositoryTopic, administrators, { topic: 'no topic' }),

  row(stars.listStargazers, visitors),
  // Nobody has starred anything.
  row(stars.checkStarredRepository, starReaders),
  row(stars.unstarRepository, starGivers),
  row(stars.starRepository, starGivers),

  row(collaborators.listCollaborators, guests),
  row(collaborators.checkCollaborator, guests, { collaborator: NOBODY }),
  row(collaborators.listAssignees, guests),
  row(collaborators.checkAssignee, guests, { assignee: NOBODY }),
  row(collaborators.listReviewers, guests),
  row(collaborators.addCollaborator, administrators, { collaborator: NOBODY }),
  row(collaborators.deleteCollaborator, administrators, { collaborator: NOBODY }),
  // Of somebody else: everybody may ask about themselves.
  row(collaborators.getRepositoryPermission, administratorsWhoLook, { collaborator: NOBODY }),

  row(teams.listRepositoryTeams, guests),
  row(teams.getRepositoryTeam, guests, { team: NOTHING }),
  row(
    teams.addRepositoryTeam,
    { ...administrators, byOwnersOfOrganization: true },
    { team: NOTHING },
  ),
  row(
    teams.removeRepositoryTeam,
    { ...administrators, byOwnersOfOrganization: true },
    { team: NOTHING },
  ),

  row(forks.listForks, readers),
  row(forks.createFork, { ...members, scopes: ['write:repository'] }, { name: '..' }),
  row(forks.mergeUpstream, committers, { branch: 'no..branch' }),
  row(mirrors.syncMirror, writers),
  row(mirrors.listPushMirrors, administratorsWhoLook),
  row(mirrors.getPushMirror, administratorsWhoLook, { name: NOTHING }),
  row(mirrors.createPushMirror, administrators, { remoteAddress: 'file:///' }),
  row(mirrors.deletePushMirror, { ...administrators, writes: false }, { name: NOTHING }),
  row(mirrors.syncPushMirrors, administrators),
  row(imports.getImport, administratorsWhoLook),
  row(imports.watchImport, administratorsWhoLook),
  row(imports.cancelImport, { ...administrators, writes: false }),
  row(imports.exportRepository, { ...members, scopes: ['read:repository', 'read:issue'] }),
  row(maintenance.getRepositoryMaintenance, administratorsWhoLook),
  row(
    maintenance.requestRepositoryMaintenance,
    { ...administrators, writes: false },
    { steps: [NOTHING] },
  ),

  row(commits.listCommits, readers, { sha: NOTHING }),
  row(commits.getCommit, readers, { sha: NO_OBJECT }),
  row(commits.getCommitDiff, readers, { sha: NO_OBJECT, format: 'diff' }),
  row(commits.compareCommits, readers, { basehead: `${NOTHING}...${NOTHING}` }),
  row(commits.getComparisonDiff, readers, { basehead: `${NOTHING}...${NOTHING}` }),
  row(statuses.listCommitStatuses, readers, { ref: NOTHING }),
  row(statuses.getCombinedStatus, readers, { ref: NOTHING }),
  row(statuses.createCommitStatus, writers, { sha: NO_OBJECT, state: 'success' }),

  row(contents.getContents, readers, { path: NOTHING }),
  row(contents.listFilePaths, readers),
  row(contents.getRawFile, readers, { refPath: NOTHING, ref: NOTHING, refKind: 'branch' }),
  row(contents.getEditorConfig, readers, { path: NOTHING }),
  row(contents.getBlame, readers, { path: NOTHING }),
  row(contents.getArchive, readers, { archive: `${NOTHING}.zip` }),
  row(contents.createFile, committers, { path: '.git/config' }),
  row(contents.updateFile, committers, { path: '.git/config' }),
  row(contents.deleteFile, committers, { path: '.git/config', sha: NO_OBJECT }),
  row(contents.changeFiles, committers, { files: [{ operation: 'create', path: '.git/config' }] }),

  row(objects.listGitRefs, readers, { prefix: NOTHING }),
  row(objects.getGitTree, readers, { sha: NO_OBJECT }),
  row(objects.getGitBlob, readers, { sha: NO_OBJECT }),
  row(objects.getAnnotatedTag, readers, { sha: NO_OBJECT }),

  row(languages.getRepositoryLanguages, readers),

  row(lfs.listLfsObjects, administratorsWhoLook),
  row(lfs.deleteLfsObject, administrators, { oid: NOTHING }),
  row(lfs.listLfsLocks, administratorsWhoLook),
  row(codeSearch.searchCode, readers, { q: 'text' }),
  row(feeds.getActivityFeed, visitors),
  row(feeds.getReleaseFeed, releaseReaders),
  row(feeds.getBranchFeed, readers, { branch: NOTHING }),
  row(branches.listBranches, readers),
  row(branches.getBranch, readers, { branch: NOTHING }),
  // With nothing wrong in it: what it asks for is looked at before the repository is.
  row(branches.createBranch, branchMakers, { newBranchName: 'new', oldRefName: NOTHING }),
  row(branches.deleteBranch, branchMakers, { branch: NOTHING }),
  row(branches.moveBranch, branchMakers, { branch: NOTHING, newCommitId: NO_OBJECT }),
  row(branches.renameBranch, branchMakers, { branch: NOTHING, name: 'new' }),
  row(branchProtections.listBranchProtections, administratorsWhoLook),
  row(branchProtections.getBranchProtection, administratorsWhoLook, { name: NOTHING }),
  row(branchProtections.createBranchProtection, administrators),
  row(branchProtections.editBranchProtection, administrators, { name: NOTHING }),
  row(branchProtections.deleteBranchProtection, administrators, { name: NOTHING }),
  row(branchProtections.reorderBranchProtections, administrators, { ids: [NO_NUMBER] }),
  row(tags.listTags, readers),
  row(tags.getTag, readers, { tag: NOTHING }),
  row(tags.createTag, committers, { tagName: 'no..tag' }),
  row(tags.deleteTag, committers, { tag: NOTHING }),
  row(tagProtections.listTagProtections, administratorsWhoLook),
  row(tagProtections.getTagProtection, administratorsWhoLook, { id: NO_NUMBER }),
  row(tagProtections.createTagProtection, administrators),
  row(tagProtections.editTagProtection, administrators, { id: NO_NUMBER }),
  row(tagProtections.deleteTagProtection, administrators, { id: NO_NUMBER }),

  row(hooks.listGitHooks, hookReaders),
  row(hooks.getGitHook, hookReaders, { id: NOTHING }),
  row(hooks.editGitHook, hookWriters, { id: NOTHING }),
  row(hooks.deleteGitHook, hookWriters, { id: NOTHING }),

  row(RepositoryEventService.method.watchRepository, visitors, { cursor: NOTHING }),
  row(IssueEventService.method.watchIssue, issueReaders, { index: PULL, cursor: NOTHING }),

  row(releases.listReleases, releaseReaders),
  row(releases.getRelease, releaseReaders, { id: NO_NUMBER }),
  row(releases.getLatestRelease, releaseReaders),
  row(releases.getReleaseByTag, releaseReaders, { tag: NOTHING }),
  row(releases.createRelease, releaseWriters, { tagName: 'no..tag' }),
  row(releaseNotes.generateReleaseNotes, releaseWriters, { tagName: 'no..tag' }),
  row(releases.editRelease, releaseWriters, { id: NO_NUMBER }),
  row(releases.deleteRelease, releaseWriters, { id: NO_NUMBER }),
  row(releases.deleteReleaseByTag, releaseWriters, { tag: NOTHING }),
  row(releases.listReleaseAssets, releaseReaders, { id: NO_NUMBER }),
  row(releases.getReleaseAsset, releaseReaders, { id: NO_NUMBER, asset: NO_NUMBER }),
  row(releases.createReleaseAsset, releaseWriters, { id: NO_NUMBER, name: 'file' }),
  row(releases.editReleaseAsset, releaseWriters, { id: NO_NUMBER, asset: NO_NUMBER }),
  row(releases.deleteReleaseAsset, releaseWriters, { id: NO_NUMBER, asset: NO_NUMBER }),

  row(pulls.listPullRequests, pullReaders),
  row(pulls.getPullRequest, pullReaders, { index: PULL }),
  row(pulls.getPullRequestByBranches, pullReaders, { base: 'main', head: 'proposal' }),
  // Into itself.
  row(pulls.createPullRequest, pullMakers, { base: 'main', head: 'main' }),
  // Of a text that nobody knows.
  row(pulls.editPullRequest, pullEditors, { index: PULL, contentVersion: NO_NUMBER }),
  row(pullFiles.getPullRequestDiff, pullReaders, { index: PULL, format: 'diff' }),
  row(pullFiles.listPullRequestCommits, pullReaders, { index: PULL }),
  row(pullFiles.listPullRequestFiles, pullReaders, { index: PULL }),
  row(pullFiles.getCommitPullRequest, pullReaders, { sha: NO_OBJECT }),
  row(pullMerges.checkPullRequestMerged, pullReaders, { index: PULL }),
  row(pullMerges.listMergeMessages, mergersWhoLook, { index: PULL }),
  row(pullMerges.mergePullRequest, mergers, { index: PULL }),
  row(pullMerges.cancelAutoMerge, participants, { index: PULL }),
  row(mergeQueues.getMergeQueue, pullReaders, { base: NOTHING }),
  row(mergeQueues.enqueuePullRequest, mergers, { index: PULL }),
  row(mergeQueues.dequeuePullRequest, participants, { index: PULL }),
  row(mergeQueues.getMergeQueueEntry, pullReaders, { index: PULL }),
  // The head has all that the base has.
  row(pullMerges.updatePullRequestHead, pullUpdaters, { index: PULL }),

  row(reviews.listCodeOwnerErrors, { ...members, level: 'write' }, {}),
  row(reviews.listReviews, pullReaders, { index: PULL }),
  row(reviews.getReview, pullReaders, { index: PULL, id: NO_NUMBER }),
  // Without a word.
  row(reviews.createReview, participants, { index: PULL, event: 'COMMENT' }),
  row(reviews.submitReview, participants, { index: PULL, id: NO_NUMBER }),
  row(reviews.deleteReview, participants, { index: PULL, id: NO_NUMBER }),
  row(reviews.dismissReview, dismissers, { index: PULL, id: NO_NUMBER }),
  row(reviews.undismissReview, dismissers, { index: PULL, id: NO_NUMBER }),
  row(reviews.requestReviewers, reviewSeekers, { index: PULL, reviewers: [NOBODY] }),
  row(reviews.withdrawReviewRequests, participants, { index: PULL, reviewers: [NOBODY] }),
  row(reviews.listReviewComments, pullReaders, { index: PULL, id: NO_NUMBER }),
  row(reviews.getReviewComment, pullReaders, { index: PULL, id: NO_NUMBER, comment: NO_NUMBER }),
  row(reviews.createReviewComment, participants, { index: PULL, id: NO_NUMBER }),
  row(reviews.editReviewComment, participants, {
    index: PULL,
    id: NO_NUMBER,
    comment: NO_NUMBER,
  }),
  row(reviews.deleteReviewComment, participants, {
    index: PULL,
    id: NO_NUMBER,
    comment: NO_NUMBER,
  }),
  row(reviews.listReviewCommentEdits, pullReaders, {
    index: PULL,
    id: NO_NUMBER,
    comment: NO_NUMBER,
  }),
  row(reviews.deleteReviewCommentEdit, participants, {
    index: PULL,
    id: NO_NUMBER,
    comment: NO_NUMBER,
    edit: NO_NUMBER,
  }),
  row(reviews.replyToReviewComment, participants, { index: PULL, comment: NO_NUMBER }),
  // Which pull request it would be about nobody knows.
  row(reviews.resolveReviewComment, { ...participants, writes: false }, { comment: NO_NUMBER }),
  row(reviews.unresolveReviewComment, { ...participants, writes: false }, { comment: NO_NUMBER }),
  row(viewedFiles.listViewedFiles, { ...pullReaders, signedIn: true }, { index: PULL }),
  row(viewedFiles.markFilesViewed, fileViewers, { index: PULL, paths: [NOTHING] }),
  row(viewedFiles.unmarkFilesViewed, fileViewers, { index: PULL, paths: [NOTHING] }),
  row(pullStacks.restackPullRequests, { ...pullEditors, movesRefs: true }, { index: PULL }),
  row(suggestions.applySuggestions, suggestionUsers, { index: PULL, comments: [NO_NUMBER] }),

  row(issues.listIssues, issueReaders),
  row(issues.getIssue, issueReaders, { index: PULL }),
  // Of a text that nobody knows.
  row(issues.editIssue, issueEditors, { index: PULL, contentVersion: NO_NUMBER }),
  // Without a title.
  row(issues.createIssue, issueMakers),
  row(issues.batchEditIssues, { ...subscribers, writes: true }, { numbers: [NO_NUMBER] }),
  // Of an issue that is not there.
  row(issues.deleteIssue, subscribers, { index: NO_NUMBER }),
  row(issues.setIssueDeadline, labellers, { index: PULL }),
  row(issues.addIssueAssignees, labellers, { index: PULL, assignees: [NOBODY] }),
  row(issues.removeIssueAssignees, labellers, { index: PULL, assignees: [NOBODY] }),
  row(issues.checkIssueAssignee, issueReaders, { index: PULL, assignee: NOBODY }),
  row(issues.listIssueBlocks, issueReaders, { index: PULL }),
  // By an issue that is not there.
  row(issues.addIssueBlock, subscribers, { index: PULL, block: { index: NO_NUMBER } }),
  row(issues.removeIssueBlock, subscribers, { index: PULL, block: { index: NO_NUMBER } }),
  row(issues.listIssueLabels, issueReaders, { index: PULL }),
  row(issues.addIssueLabels, labellers, { index: PULL }),
  row(issues.replaceIssueLabels, labellers, { index: PULL }),
  row(issues.clearIssueLabels, labellers, { index: PULL }),
  row(issues.removeIssueLabel, labellers, { index: PULL, id: NO_NUMBER }),
  row(issues.listIssueTimeline, issueReaders, { index: PULL }),
  row(issues.lockIssue, labellers, { index: PULL, lockReason: NOTHING }),
  row(issues.unlockIssue, labellers, { index: PULL }),
  row(attachments.listIssueAttachments, issueReaders, { index: PULL }),
  row(attachments.createIssueAttachment, attachers, { index: PULL, name: 'file' }),
  row(attachments.getIssueAttachment, issueReaders, { index: PULL, id: NO_NUMBER }),
  row(attachments.editIssueAttachment, attachers, { index: PULL, id: NO_NUMBER }),
  row(attachments.deleteIssueAttachment, attachers, { index: PULL, id: NO_NUMBER }),
  row(attachments.listIssueCommentAttachments, issueReaders, { id: NO_NUMBER }),
  row(attachments.createIssueCommentAttachment, menders, { id: NO_NUMBER, name: 'file' }),
  row(attachments.getIssueCommentAttachment, issueReaders, { id: NO_NUMBER, aid: NO_NUMBER }),
  row(attachments.editIssueCommentAttachment, menders, { id: NO_NUMBER, aid: NO_NUMBER }),
  row(attachments.deleteIssueCommentAttachment, menders, { id: NO_NUMBER, aid: NO_NUMBER }),
  row(attachments.createIssueUpload, { ...subscribers, writes: true }, { name: '' }),
  row(attachments.downloadAttachment, { ...visitors, scopes: [] }, { uuid: 'none' }),
  row(issuePins.pinIssue, pinners, { index: PULL }),
  row(issuePins.moveIssuePin, pinners, { index: PULL, position: 1n }),
  row(issuePins.unpinIssue, pinners, { index: PULL }),
  row(issuePins.listPinnedIssues, { ...issueReaders, ofIssues: true }),
  row(issuePins.listPinnedPullRequests, pullReaders),
  row(issueQueries.findSimilarIssues, { ...issueReaders, ofIssues: true }),
  row(issuePins.getNewPinAllowed, { ...issueReaders, scopes: ['read:repository'] }),
  // Of an issue that is not there.
  row(issueTransfers.transferIssue, subscribers, {
    index: NO_NUMBER,
    target: { owner: NOBODY, repo: NOTHING },
  }),
  row(issueExchange.exportIssues, { ...issueReaders, ofIssues: true }),
  row(issueExchange.importIssues, { ...administrators, scopes: ['write:issue'] }),
  row(
    issueExchange.getIssueImport,
    { ...administratorsWhoLook, scopes: ['read:issue'] },
    { id: NO_NUMBER },
  ),
  row(subIssues.listSubIssues, issueReaders, { index: NO_NUMBER }),
  row(subIssues.getParentIssue, issueReaders, { index: NO_NUMBER }),
  row(subIssues.addSubIssue, subscribers, { index: NO_NUMBER, subIssue: { index: NO_NUMBER } }),
  row(subIssues.removeSubIssue, subscribers, { index: NO_NUMBER, subIssue: { index: NO_NUMBER } }),
  row(subIssues.moveSubIssue, subscribers, {
    index: NO_NUMBER,
    position: 1n,
    subIssue: { index: NO_NUMBER },
  }),
  row(issueTemplates.listIssueTemplates, readers),
  row(issueTemplates.getIssueConfig, readers),
  row(issueTemplates.validateIssueConfig, readers),
  row(issueTemplates.getPullRequestTemplate, readers),
  row(issueTemplates.renderIssueTemplate, readers, { template: NOTHING }),
  row(trackedTimes.listIssueTrackedTimes, { ...issueReaders, signedIn: true }, { index: PULL }),
  row(trackedTimes.addTrackedTime, commenters, { index: PULL }),
  row(trackedTimes.resetTrackedTimes, commenters, { index: PULL }),
  row(trackedTimes.deleteTrackedTime, commenters, { index: PULL, id: NO_NUMBER }),
  row(trackedTimes.listRepositoryTrackedTimes, timeReaders),
  row(trackedTimes.listUserTrackedTimes, timeReaders, { user: NOBODY }),
  row(stopwatches.startStopwatch, commenters, { index: PULL }),
  row(stopwatches.stopStopwatch, commenters, { index: PULL }),
  row(stopwatches.deleteStopwatch, commenters, { index: PULL }),
  row(issues.listIssueDependencies, issueReaders, { index: PULL }),
  // On nothing.
  row(issues.addIssueDependency, labellers, { index: PULL }),
  row(issues.removeIssueDependency, labellers, { index: PULL }),
  row(subscriptions.getRepositorySubscription, guests),
  row(repositories.getViewerState, guests),
  row(subscriptions.setRepositorySubscription, forGuests),
  row(subscriptions.deleteRepositorySubscription, forGuests),
  row(subscriptions.listRepositorySubscribers, visitors),
  row(subscriptions.listIssueSubscribers, issueReaders, { index: PULL }),
  row(subscriptions.checkIssueSubscription, { ...issueReaders, signedIn: true }, { index: PULL }),
  row(subscriptions.addIssueSubscription, subscribers, { index: PULL, user: NOBODY }),
  row(subscriptions.deleteIssueSubscription, subscribers, { index: PULL, user: NOBODY }),
  row(notifications.listRepositoryNotificationThreads, {
    ...guests,
    scopes: ['read:notification'],
  }),
  row(notifications.markRepositoryNotificationThreads, {
    ...guests,
    scopes: ['write:notification'],
  }),
  row(issueComments.listIssueComments, issueReaders, { index: PULL }),
  row(issueComments.listRepositoryComments, issueReaders),
  row(issueComments.getIssueComment, issueReaders, { id: NO_NUMBER }),
  // Without a word.
  row(issueComments.createIssueComment, commenters, { index: PULL }),
  // Which pull request it would be on nobody knows.
  row(issueComments.editIssueComment, { ...commenters, writes: false }, { id: NO_NUMBER }),
  row(issueComments.deleteIssueComment, { ...commenters, writes: false }, { id: NO_NUMBER }),
  row(issueComments.listCommentEdits, issueReaders, { id: NO_NUMBER }),
  row(
    issueComments.deleteCommentEdit,
    { ...commenters, writes: false },
    { id: NO_NUMBER, edit: NO_NUMBER },
  ),

  row(
    conversations.getConversation,
    { ...issueReaders, scopes: ['read:issue', 'read:repository'] },
    { index: PULL },
  ),
  row(reactions.listIssueReactions, issueReaders, { index: PULL }),
  row(reactions.countReactions, issueReaders, { index: PULL }),
  row(reactions.createIssueReaction, commenters, { index: PULL, content: NOTHING }),
  row(reactions.deleteIssueReaction, commenters, { index: PULL, content: NOTHING }),
  row(reactions.listIssueCommentReactions, issueReaders, { id: NO_NUMBER }),
  row(reactions.createIssueCommentReaction, { ...commenters, writes: false }, { id: NO_NUMBER }),
  row(reactions.deleteIssueCommentReaction, { ...commenters, writes: false }, { id: NO_NUMBER }),

  row(deployKeys.listDeployKeys, administratorsWhoLook),
  row(deployKeys.getDeployKey, administratorsWhoLook, { id: NO_NUMBER }),
  row(deployKeys.createDeployKey, administrators, { title: 'key', key: 'none' }),
  row(deployKeys.deleteDeployKey, administrators, { id: NO_NUMBER }),

  row(webhooks.listRepositoryHooks, administratorsWhoLook),
  row(webhooks.getRepositoryHook, administratorsWhoLook, { id: NO_NUMBER }),
  row(webhooks.createRepositoryHook, administrators, { type: 'none' }),
  row(webhooks.editRepositoryHook, administrators, { id: NO_NUMBER }),
  row(webhooks.deleteRepositoryHook, administrators, { id: NO_NUMBER }),
  row(webhooks.testRepositoryHook, { ...administrators, writes: false }, { id: NO_NUMBER }),
  row(webhooks.listRepositoryHookDeliveries, administratorsWhoLook, { id: NO_NUMBER }),
  row(webhooks.getRepositoryHookDelivery, administratorsWhoLook, {
    id: NO_NUMBER,
    deliveryId: NOTHING,
  }),
  row(
    webhooks.redeliverRepositoryHookDelivery,
    { ...administrators, writes: false },
    { id: NO_NUMBER, deliveryId: NOTHING },
  ),

  row(labels.listRepositoryLabels, planReaders),
  row(labels.getRepositoryLabel, planReaders, { id: NO_NUMBER }),
  row(labels.createRepositoryLabel, planners, { name: 'label', color: 'none' }),
  row(labels.editRepositoryLabel, planners, { id: NO_NUMBER }),
  row(labels.deleteRepositoryLabel, planners, { id: NO_NUMBER }),
  row(issueQueries.queryIssues, issueReaders),
  row(issueQueries.explainIssueQuery, issueReaders),
  row(issueViews.listIssueViews, planReaders),
  row(issueViews.getIssueView, planReaders, { id: NO_NUMBER }),
  row(issueViews.createIssueView, planners),
  row(issueViews.editIssueView, planners, { id: NO_NUMBER }),
  row(issueViews.deleteIssueView, planners, { id: NO_NUMBER }),
  row(milestones.listMilestones, planReaders),
  row(milestones.getMilestone, planReaders, { id: NOTHING }),
  row(milestones.createMilestone, planners),
  row(milestones.editMilestone, planners, { id: NOTHING }),
  row(milestones.deleteMilestone, planners, { id: NOTHING }),
]

/** @param request without the two names, with which the requests of all of these methods begin. */
function row<M extends DescMethod>(
  method: M,
  needs: RepositoryNeeds,
  request?: MessageInitShape<M['input']>,
): RepositoryRow {
  return {
    method,
    needs,
    requestTo({ owner, name }) {
      const message: Message = create<DescMethod['input']>(method.input, request)
      return Object.assign(message, { owner, repo: name })
    },
    consumes: false,
  }
}

function byNumber(id: number): Message {
  return create(repositories.getRepositoryById.input, { id: BigInt(id) })
}
