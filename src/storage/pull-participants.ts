/** Who has a part in a pull request, and what they have seen of it. */
export interface PullParticipantsTable {
  pull_request_id: number
  user_id: number
  /** `change_count` of the pull request when they last looked. */
  seen: number
}
