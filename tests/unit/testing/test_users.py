"""Users and the file that makes the API server know them."""

from stowplan.testing.users import ADMIN, NOBODY, SCHEDULER, User, token_file


def test_token_file() -> None:
    users = [
        User("admin", ("a", "b"), "t1"),
        User("me", ("c",), "t2"),
        User("system:kube-scheduler", (), "t3"),
    ]
    assert token_file(users).splitlines() == [
        't1,admin,admin,"a,b"',
        't2,me,me,"c"',
        "t3,system:kube-scheduler,system:kube-scheduler",
    ]


def test_every_user_has_a_token_of_its_own() -> None:
    assert len({user.token for user in (ADMIN, SCHEDULER, NOBODY, User("a"), User("b"))}) == 5


def test_tokens_are_not_shown() -> None:
    assert ADMIN.token not in repr(ADMIN)


def test_a_service_account_is_the_user_that_the_server_would_make_of_it() -> None:
    user = User.service_account("kube-system", "mine")
    assert user.name == "system:serviceaccount:kube-system:mine"
    assert user.groups == ("system:serviceaccounts", "system:serviceaccounts:kube-system")
