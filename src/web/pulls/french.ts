import type { Catalogue } from '../language/catalogue.ts'

/** Texts of pull requests, in French. */
export const french = {
  'Pull request {number}': 'Pull request {number}',
  'Pull request': 'Pull request',
  'New pull request': 'Nouvelle pull request',
  'Search pull requests': 'Rechercher des pull requests',
  'approved @review': 'approuvée',
  'changes requested': 'modifications demandées',
  'waits for a review': 'en attente d’une revue',
  'checks succeeded': 'vérifications réussies',
  'checks failed': 'vérifications en échec',
  'checks are running': 'vérifications en cours',
  'No pull requests.': 'Aucune pull request.',
  'place {position} in the merge queue': 'place {position} dans la file de fusion',
  '{who} wants to merge {head} into {base}, opened {time}':
    '{who} souhaite fusionner {head} dans {base}, ouverte {time}',
  'Number {number} is an issue: {link}.': 'Le numéro {number} est un ticket : {link}.',
  Conversation: 'Conversation',
  'Conflicts with the target branch': 'Conflits avec la branche cible',
  'Looking for conflicts': 'Recherche de conflits',
  'No conflicts': 'Aucun conflit',
  'Go to the merge': 'Aller à la fusion',
  'You have a pending review.': 'Vous avez une revue en attente.',
  'Submit the review among the files.': 'Envoyer la revue parmi les fichiers.',
  Checks: 'Vérifications',
  'No system has reported a check.': 'Aucun système n’a signalé de vérification.',
  'Stack, from the lowest': 'Pile, à partir du bas',
  'Rebase those above': 'Faire le rebase de celles au-dessus',
  'All pull requests above follow this one already.':
    'Toutes les pull requests au-dessus suivent déjà celle-ci.',
  'Rebased {count} pull requests.': {
    one: 'Rebase effectué pour {count} pull request.',
    other: 'Rebase effectué pour {count} pull requests.',
  },
  'Requested reviewers': 'Relecteurs demandés',
  'Mark as ready': 'Marquer comme prête',
  'Mark as work in progress': 'Marquer comme en cours',
  'Close without a merge': 'Fermer sans fusionner',
  'Merge @noun': 'Fusion',
  'Merge @action': 'Fusionner',
  'Merge as soon as nothing is missing': 'Fusionner dès que rien ne manque',
  'Merge as soon as the checks succeed': 'Fusionner dès que les vérifications ont réussi',
  'Merged by {who} {time}.': 'Fusionnée par {who} {time}.',
  'The server is looking for conflicts.': 'Le serveur recherche des conflits.',
  'The check for conflicts failed. If a merge is refused, its reason appears here.':
    'La recherche de conflits a échoué. Si une fusion est refusée, la raison apparaît ici.',
  'The target branch has all these changes. A merge adds the commits only.':
    'La branche cible contient déjà toutes ces modifications. Une fusion n’ajoute que les commits.',
  Style: 'Méthode',
  'Merge commit': 'Commit de fusion',
  Rebase: 'Rebase',
  'Rebase, then a merge commit': 'Rebase, puis un commit de fusion',
  'One commit (squash)': 'Un seul commit (squash)',
  'Fast-forward only': 'Fast-forward uniquement',
  'Delete the branch afterwards': 'Supprimer ensuite la branche',
  'The commits keep their messages.': 'Les commits gardent leurs messages.',
  'Title of the commit': 'Titre du commit',
  '{who} has scheduled a merge ({style}) for when the checks have succeeded.':
    '{who} a planifié une fusion ({style}) pour le moment où les vérifications auront réussi.',
  'Cancel the scheduled merge': 'Annuler la fusion planifiée',
  'Delete the branch {name}': 'Supprimer la branche {name}',
  'The changes are on the target branch.': 'Les modifications sont sur la branche cible.',
  'The pull request is closed.': 'La pull request est fermée.',
  'Somebody who may write to the repository can merge.':
    'Une personne ayant un accès en écriture au dépôt peut fusionner.',
  'The target branch does not exist.': 'La branche cible n’existe pas.',
  'A rule of {branch} says who may merge. You may not.':
    'Une règle de {branch} définit qui peut fusionner. Vous n’y êtes pas autorisé.',
  'Work in progress PRs cannot be merged.':
    'Les pull requests en cours de travail ne peuvent pas être fusionnées.',
  'The changes conflict with those of the target branch.':
    'Les modifications sont en conflit avec celles de la branche cible.',
  'The target branch has all commits already.': 'La branche cible contient déjà tous les commits.',
  'Does not have enough approvals: {given} of {needed}.':
    'Approbations insuffisantes : {given} sur {needed}.',
  'Not all required status checks successful: {names}.':
    'Toutes les vérifications requises n’ont pas réussi : {names}.',
  'no system has reported a check': 'aucun système n’a signalé de vérification',
  '{branch} has commits that the pull request does not have.':
    '{branch} contient des commits que la pull request n’a pas.',
  'Update the branch by a merge': 'Mettre à jour la branche par une fusion',
  'Update the branch by a rebase': 'Mettre à jour la branche par un rebase',
  '{branch} has a {queue}, which merges once the required checks have succeeded together with the pull requests before.':
    '{branch} a une {queue}, qui fusionne une fois que les vérifications requises ont réussi avec les pull requests précédentes.',
  '{branch} has a {queue}, which takes a stack in its order.':
    '{branch} a une {queue}, qui prend une pile dans son ordre.',
  'This pull request enters together with {numbers}, and leaves if one of those leaves.':
    'Cette pull request y entre avec {numbers}, et en sort si l’une de celles-ci en sort.',
  'Take out of the queue': 'Retirer de la file',
  'Merge at once': 'Fusionner immédiatement',
  'The merge does not wait for checks or approvals. All pull requests in the queue of {branch} are then tried again.':
    'La fusion n’attend ni vérifications ni approbations. Toutes les pull requests dans la file de {branch} sont ensuite essayées à nouveau.',
  'Add to the merge queue': 'Ajouter à la file de fusion',
  'Add to the merge queue again': 'Ajouter de nouveau à la file de fusion',
  'Add the stack to the merge queue': 'Ajouter la pile à la file de fusion',
  'Add the stack to the merge queue again': 'Ajouter de nouveau la pile à la file de fusion',
  'Merge when ready': 'Fusionner dès que possible',
  'Add to the front of the queue': 'Ajouter en tête de la file',
  'The pull request has left the queue: {reason}.': 'La pull request a quitté la file : {reason}.',
  'Checks: {names}': 'Vérifications : {names}',
  'Position {position}': 'Position {position}',
  'Position {position}, in about {count} minutes': {
    one: 'Position {position}, dans environ {count} minute',
    other: 'Position {position}, dans environ {count} minutes',
  },
  '{place}: {state}.': '{place} : {state}.',
  'Stands on #{number}.': 'Repose sur #{number}.',
  'Added by {who}.': 'Ajoutée par {who}.',
  'waits for its turn': 'attend son tour',
  'waits for checks': 'attend les vérifications',
  'has succeeded, and waits for the pull requests before':
    'a réussi, et attend les pull requests précédentes',
  'Merge queue of {branch}': 'File de fusion de {branch}',
  'Reconnecting.': 'Reconnexion en cours.',
  'No pull request waits.': 'Aucune pull request n’attend.',
  'Tried together: {numbers}': 'Essayées ensemble : {numbers}',
  'until {time}': 'échéance {time}',
  'line {line} of {path}': 'ligne {line} de {path}',
  'old line {line} of {path}': 'ancienne ligne {line} de {path}',
  '{signIn} to review the changes.': '{signIn} pour relire les modifications.',
  '{viewed} of {count} files viewed.': {
    one: '{viewed} fichier vu sur {count}.',
    other: '{viewed} fichiers vus sur {count}.',
  },
  'These are the changes since commit {commit}.':
    'Voici les modifications depuis le commit {commit}.',
  'Show all changes, to comment on lines.':
    'Afficher toutes les modifications, pour commenter des lignes.',
  'Commits have arrived since your last review.':
    'Des commits sont arrivés depuis votre dernière revue.',
  'Show the changes since then.': 'Afficher les modifications depuis.',
  '{count} comments wait for the submission. Nobody else sees a pending review.': {
    one: '{count} commentaire attend l’envoi. Personne d’autre ne voit une revue en attente.',
    other: '{count} commentaires attendent l’envoi. Personne d’autre ne voit une revue en attente.',
  },
  'Choose the number of a line to comment on the line.':
    'Choisir le numéro d’une ligne pour la commenter.',
  'Go to your review': 'Aller à votre revue',
  'Your review': 'Votre revue',
  Summary: 'Résumé',
  'Summary (optional)': 'Résumé (facultatif)',
  Verdict: 'Verdict',
  'Comment @action': 'Commenter',
  Approve: 'Approuver',
  'Request changes': 'Demander des modifications',
  'Submit the review': 'Envoyer la revue',
  'The review is submitted.': 'La revue est envoyée.',
  'Discard the pending review': 'Abandonner la revue en attente',
  'All comments of the pending review are deleted.':
    'Tous les commentaires de la revue en attente sont supprimés.',
  'the review of {who}': 'la revue de {who}',
  'Let the review count again': 'Rétablir la revue',
  Dismiss: 'Rejeter',
  'Dismiss the review of {who}': 'Rejeter la revue de {who}',
  'Dismiss the review': 'Rejeter la revue',
  'A dismissed review does not count. Everybody sees the reason.':
    'Une revue rejetée ne compte pas. Tout le monde voit la raison.',
  'Delete the review': 'Supprimer la revue',
  'The review and its comments are deleted for ever.':
    'La revue et ses commentaires sont supprimés définitivement.',
} satisfies Catalogue
